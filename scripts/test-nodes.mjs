// npm run test:nodes: runs npm test on every Node version that users run, one after the other. The binaries come from
// npm, which verifies them, and are kept in .cache/nodes. `-- 24` runs only that version; other arguments go to vitest.
import { mkdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { isMain, root, run } from './program.mjs';
import { runNpm } from './setup.mjs';

/** The oldest version that svcctl supports, and the newest of each line that is still maintained. */
const versions = ['20.19', '22', '24'];
const packageName = `node-${process.platform}-${process.arch}`;

async function main(args) {
  const failed = [];
  const chosen = versions.filter((version) => args.includes(version));
  const asked = chosen.length > 0 ? chosen : versions;
  const rest = args.filter((arg) => !versions.includes(arg));
  for (const version of asked) {
    const node = await fetchNode(version);
    const { output } = await run(node, ['--version']);
    say(`\n── Node ${output.trim()} ──`);
    // This Node comes first in PATH, because the programs that npm has installed are run by the node found there.
    const path = [dirname(node), process.env.PATH].join(delimiter);
    const env = { ...process.env, PATH: path };
    const { code } = await run(node, ['scripts/test.mjs', ...rest], { inherit: true, env });
    if (code !== 0) failed.push(output.trim());
  }
  if (failed.length > 0) throw new Error(`tests fail on Node ${failed.join(', ')}: see above`);
  say(`\nAll tests pass on Node ${asked.join(', ')}.`);
}

/** Answers the path of a Node of this version; downloads it if necessary. */
async function fetchNode(version) {
  const folder = join(root, '.cache', 'nodes', version);
  mkdirSync(folder, { recursive: true });
  const options = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--no-package-lock'];
  const result = await runNpm(['install', ...options, `${packageName}@${version}`]);
  if (result.code !== 0) throw new Error(`npm cannot fetch Node ${version}:\n${result.output}`);
  return realpathSync(join(folder, 'node_modules', packageName, 'bin', 'node'));
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

if (isMain(import.meta.url)) {
  await main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  });
}
