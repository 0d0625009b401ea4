import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * What the service of a release needs. Its console and its types are left out: they may need packages that this tree has
 * no more.
 */
const buildService =
  "await (await import('./scripts/build.mjs')).build({ withConsole: false, checksTypes: false })";

/** Builds the service of a commit in a folder of its own, with the packages of this tree. Answers its program. */
export async function buildRelease(scope, commit, dir) {
  mkdirSync(dir);
  const archive = join(dir, 'source.tar');
  await run(scope, ['git', 'archive', '--output', archive, commit], root);
  await run(scope, ['tar', '-xf', archive, '-C', dir], root);
  for (const folder of ['', 'packages/server', 'packages/console']) {
    const packages = join(root, folder, 'node_modules');
    if (existsSync(packages)) symlinkSync(packages, join(dir, folder, 'node_modules'));
  }
  await run(scope, [process.execPath, '--input-type=module', '--eval', buildService], dir);
  return join(dir, 'packages', 'server', 'bin', 'svcctl.cjs');
}

/** Runs a program in a group of its own, which ends with the scope, with all that the program has started. */
async function run(scope, [command, ...args], cwd) {
  const child = spawn(command, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  scope.defer(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with ${code ?? signal}`);
}
