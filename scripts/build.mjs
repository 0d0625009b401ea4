// npm run build: packages/server/src → its dist, packages/console → its dist, each unless it is up to
// date. --force builds anyway.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { installed, isMain, root, run } from './program.mjs';

const server = join(root, 'packages', 'server');
const webConsole = join(root, 'packages', 'console');

/**
 * What is built, each only when its inputs have changed: the sources, and the files beside them that
 * shape the output.
 */
const targets = [
  {
    output: join(server, 'dist'),
    sources: () => files(join(server, 'src')).filter(isSource),
    settings: ['tsconfig.base.json', 'packages/server/package.json', tsconfigOf(server)],
    compile: compileServer,
  },
  {
    output: join(webConsole, 'dist'),
    sources: () => [
      ...files(join(webConsole, 'src')).filter(isSource),
      ...files(join(webConsole, 'public')),
      // The closed lists of the service: all of it that the bundle carries.
      ...files(join(server, 'src')).filter((path) => basename(path) === 'values.ts'),
    ],
    settings: ['package.json', 'index.html', 'vite.config.ts'].map(
      (name) => `packages/console/${name}`,
    ),
    // Its types are for `npm run check`: a start must not wait for them.
    async compile() {
      await runTool('vite', ['build', webConsole, '--logLevel', 'warn']);
      compressFiles(join(webConsole, 'dist'));
    },
  },
];
const buildNotes = '.tsbuildinfo';
const sharedSettings = ['package.json', 'package-lock.json', 'scripts/build.mjs'];

/** Builds what has changed; answers the folders it had to write. Throws when sources do not compile. */
export async function build({ force = false } = {}) {
  const built = [];
  for (const target of targets) {
    if (await buildTarget(target, force)) built.push(relative(root, target.output));
  }
  return built;
}

async function buildTarget(target, force) {
  const stampFile = join(target.output, '.built');
  const before = fingerprint(target);
  if (!force && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === before) return false;
  rmSync(stampFile, { force: true });
  if (force) rmSync(join(target.output, buildNotes), { force: true });
  await target.compile();
  // As of before the build: what was changed meanwhile is built the next time.
  writeFileSync(stampFile, before);
  return true;
}

/** Names, sizes and times of all inputs: also changes when one goes away or an older one takes its place. */
function fingerprint({ sources, settings }) {
  const hash = createHash('sha256');
  const beside = [...sharedSettings, ...settings].map((name) => join(root, name));
  for (const path of [...sources(), ...beside]) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${relative(root, path)}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

async function compileServer() {
  const project = join(root, tsconfigOf(server));
  // Its notes lie in the output: when that is removed, everything is written anew.
  const notes = join(server, 'dist', buildNotes);
  await runTool('tsc', [
    ...['--project', project, '--noEmitOnError'],
    ...['--incremental', '--tsBuildInfoFile', notes],
  ]);
  removeStale(join(server, 'src'), join(server, 'dist'));
}

/** Beside each file of text what browsers take instead, packed as hard as it goes: it is done once. */
function compressFiles(folder) {
  for (const path of files(folder).filter((path) => /\.(js|css|html|svg)$/.test(path))) {
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}

async function runTool(name, args) {
  const { code, output } = await run(installed(name), args);
  if (code !== 0) throw new Error(`the sources do not compile:\n${output.trim()}`);
}

/** A module whose source is gone must not be found by an import. */
function removeStale(source, output) {
  const wanted = new Set(
    files(source)
      .filter(isSource)
      .map((path) => join(output, relative(source, path)).replace(/\.ts$/, '')),
  );
  for (const path of files(output)) {
    if (path.endsWith(buildNotes)) continue;
    if (!wanted.has(path.replace(/\.(js|d\.ts)(\.map)?$/, ''))) rmSync(path);
  }
}

function isSource(path) {
  return /\.(ts|tsx|css)$/.test(path) && !path.endsWith('.test.ts');
}

function tsconfigOf(folder) {
  return join(relative(root, folder), 'tsconfig.build.json');
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

if (isMain(import.meta.url)) {
  try {
    const built = await build({ force: process.argv.includes('--force') });
    process.stdout.write(built.length > 0 ? `built ${built.join(', ')}\n` : 'up to date\n');
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
