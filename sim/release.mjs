import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** Builds a commit in a folder of its own, with the packages of this tree. Answers its program. */
export async function buildRelease(commit, dir) {
  mkdirSync(dir);
  const archive = join(dir, 'source.tar');
  await run('git', ['archive', '--output', archive, commit], { cwd: root });
  await run('tar', ['-xf', archive, '-C', dir]);
  for (const folder of ['', 'packages/server', 'packages/console']) {
    const packages = join(root, folder, 'node_modules');
    if (existsSync(packages)) symlinkSync(packages, join(dir, folder, 'node_modules'));
  }
  await run(process.execPath, ['scripts/build.mjs'], { cwd: dir });
  return join(dir, 'packages', 'server', 'bin', 'svcctl.cjs');
}
