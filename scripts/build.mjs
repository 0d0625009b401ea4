// npm run build: packages/server/src → packages/server/dist, unless it is up to date. --force builds anyway.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { installed, isMain, root, run } from './program.mjs';

const server = join(root, 'packages', 'server');
const source = join(server, 'src');
const target = join(server, 'dist');
const stampFile = join(target, '.built');
/** Files beside the sources that shape the output. */
const settings = [
  'package.json',
  'package-lock.json',
  'tsconfig.base.json',
  'packages/server/package.json',
  'packages/server/tsconfig.build.json',
];

/** Builds what has changed; answers whether it had to. Throws when the sources do not compile. */
export async function build({ force = false } = {}) {
  const before = fingerprint();
  if (!force && isUpToDate(before)) return false;
  rmSync(stampFile, { force: true });
  const { code, output } = await run(installed('tsc'), [
    '--project',
    join(server, 'tsconfig.build.json'),
    '--noEmitOnError',
  ]);
  if (code !== 0) throw new Error(`the sources do not compile:\n${output.trim()}`);
  removeStale();
  // As of before the build: what was changed meanwhile is built the next time.
  writeFileSync(stampFile, before);
  return true;
}

function isUpToDate(current) {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === current;
}

/** Names, sizes and times of all inputs: also changes when one goes away or an older one takes its place. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of [...sources(), ...settings.map((name) => join(root, name))]) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${relative(root, path)}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function sources() {
  return files(source).filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
}

/** A module whose source is gone must not be found by an import. */
function removeStale() {
  const wanted = new Set(
    sources().map((path) => join(target, relative(source, path)).replace(/\.ts$/, '')),
  );
  for (const path of files(target)) {
    if (!wanted.has(path.replace(/\.js(\.map)?$/, ''))) rmSync(path);
  }
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

if (isMain(import.meta.url)) {
  try {
    const isBuilt = await build({ force: process.argv.includes('--force') });
    process.stdout.write(isBuilt ? 'built packages/server/dist\n' : 'up to date\n');
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
