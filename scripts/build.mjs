// npm run build: compiles the src folders of packages/server, packages/console and packages/receive into their dist
// folders. What is up to date is not built again, unless --force is given.
import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { installed, isMain, root, run, tellingFaults } from './program.mjs';

const server = join(root, 'packages', 'server');
const webConsole = join(root, 'packages', 'console');
const receive = join(root, 'packages', 'receive');
const manifest = join(server, 'package.json');
/** Where the server's manifest lies while npm packs: that of the package, which lies in its place, is for nobody else. */
export const manifestBefore = join(server, '.package.json.before');

/**
 * The builds. Each runs only when its inputs have changed: its sources, and the files beside them that shape its
 * output.
 */
const targets = [
  {
    output: join(server, 'dist'),
    sources: () => files(join(server, 'src')).filter(isSource),
    settings: ['tsconfig.base.json', relative(root, manifest), tsconfigOf(server)],
    compile: compileServer,
  },
  {
    output: join(webConsole, 'dist'),
    sources: () => [
      ...files(join(webConsole, 'src')).filter(isSource),
      ...files(join(webConsole, 'public')),
      // Of the service, the console's bundle contains nothing but what is in these files (import-rules.mjs).
      ...files(join(server, 'src')).filter((path) =>
        ['values.ts', 'view.ts', 'day.ts', 'json-items.ts'].includes(basename(path)),
      ),
    ],
    settings: ['package.json', 'index.html', 'vite.config.ts'].map(
      (name) => `packages/console/${name}`,
    ),
    // The types of the console are checked by `npm run check`, not here: a start must not wait for that.
    async compile() {
      // A build that a test asks for inherits another mode, in which React checks all that it does.
      const env = { ...process.env, NODE_ENV: 'production' };
      await runTool('vite', ['build', webConsole, '--logLevel', 'warn'], env);
      compressFiles(join(webConsole, 'dist'));
    },
  },
  {
    output: join(receive, 'dist'),
    sources: () => files(join(receive, 'src')).filter(isSource),
    settings: ['tsconfig.base.json', tsconfigOf(receive)],
    compile: (options) => compileSources(receive, options),
  },
];
const buildNotes = '.tsbuildinfo';
const sharedSettings = ['package.json', 'package-lock.json', 'scripts/build.mjs'];

/**
 * Builds what has changed, but for the console where nobody looks at it; answers the folders it had to write. Throws when
 * sources do not compile. Types are left to `npm run check` where that builds: it checks them with all that uses them.
 */
export async function build({ force = false, withConsole = true, checksTypes = true } = {}) {
  const built = [];
  for (const target of targets) {
    if (!withConsole && target.output === join(webConsole, 'dist')) continue;
    if (await buildTarget(target, { force, checksTypes }))
      built.push(relative(root, target.output));
  }
  // A commit changes it also where no source has changed.
  writeFileSync(join(server, 'dist', 'commit'), await findCommit(root, process.env.GIT_COMMIT));
  return built;
}

/**
 * The commit that is built, for the version: of the checkout in `folder`, with `.changed` where its sources differ; or
 * else what `given` says, as for an image, whose build has no checkout. Empty when nobody knows.
 */
export async function findCommit(folder, given = '') {
  const git = (...args) =>
    run('git', ['-C', folder, ...args]).catch(() => ({ code: 1, output: '' }));
  const { code, output } = await git('rev-parse', '--show-toplevel', 'HEAD');
  const [top, head = ''] = output.split('\n');
  // The folder may lie in the checkout of something else.
  if (code !== 0 || realpathSync(top) !== realpathSync(folder)) {
    return /^[0-9a-f]{7}/.exec(given)?.[0] ?? '';
  }
  const aside = join(folder, relative(root, manifestBefore));
  // The package's own manifest is no change of the sources.
  const but = existsSync(aside) ? [`:!${relative(root, manifest)}`] : [];
  const changes = await git('diff', '--quiet', 'HEAD', '--', 'packages', ...but);
  return `${head.slice(0, 7)}${changes.code === 0 ? '' : '.changed'}`;
}

/** Forgets what was built of sources whose types turned out to be wrong, so that a build looks at them again. */
export function forgetBuilds() {
  for (const { output } of targets) rmSync(join(output, '.built'), { force: true });
}

async function buildTarget(target, { force, checksTypes }) {
  const stampFile = join(target.output, '.built');
  const before = fingerprint(target);
  if (!force && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === before) return false;
  rmSync(stampFile, { force: true });
  if (force) rmSync(join(target.output, buildNotes), { force: true });
  await target.compile({ checksTypes });
  // The fingerprint from before the build is stored, so that what changed during the build is built the next time.
  writeFileSync(stampFile, before);
  return true;
}

/**
 * A text that changes when any input does. It has names, sizes and times of all inputs, because times alone would miss
 * a file that was deleted, or replaced by an older one.
 */
function fingerprint({ sources, settings }) {
  const hash = createHash('sha256');
  const beside = [...sharedSettings, ...settings].map((name) => join(root, name));
  for (const path of [...sources(), ...beside]) {
    const isAside = path === manifest && existsSync(manifestBefore);
    const { size, mtimeMs } = statSync(isAside ? manifestBefore : path);
    hash.update(`${relative(root, path)}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

async function compileServer(options) {
  await compileSources(server, options);
  await bundleProgram(join(server, 'dist'));
}

async function compileSources(folder, { checksTypes }) {
  const project = join(root, tsconfigOf(folder));
  // The compiler keeps its notes on what it has built in the output folder: when that is removed, everything is
  // compiled again.
  const notes = join(folder, 'dist', buildNotes);
  // Two cores gain nothing from several checkers, which look at the same types anew.
  const how = checksTypes ? ['--noEmitOnError', '--checkers', '1'] : ['--noCheck'];
  await runTool('tsc', ['-p', project, ...how, '--incremental', '--tsBuildInfoFile', notes]);
  removeStale(join(folder, 'src'), join(folder, 'dist'));
}

/**
 * Makes one file of the many modules of the service, and a few of those of the command line: loading them one by one
 * takes longer than Node's own start. What brings files of its own, such as libraries of machine code, stays outside:
 * it is what package.json calls dependencies, and comes with the packed program. All else is for development.
 */
async function bundleProgram(dist) {
  const { dependencies } = JSON.parse(
    readFileSync(existsSync(manifestBefore) ? manifestBefore : manifest, 'utf8'),
  );
  // DuckDB's library is installed for the demo. The service has it in its own file, which loads five times as fast as
  // the 180 files of the library, without the machine code below.
  const installedBeside = Object.keys(dependencies).filter((name) => name !== '@duckdb/node-api');
  await bundle({
    input: {
      app: join(dist, 'app.js'),
      'duckdb-worker': join(dist, 'platform', 'duckdb-worker.js'),
    },
    external: (id) =>
      id === 'pg-native' ||
      installedBeside.some((name) => id === name || id.startsWith(`${name}/`)),
    output: { dir: join(dist, 'service'), format: 'esm', entryFileNames: '[name].js' },
  });
  const outside = (id) => {
    if (id.endsWith('/app.js')) return '../service/app.js';
    return id.endsWith('/demo.mjs') ? '../../demo/demo.mjs' : undefined;
  };
  // CommonJS starts fastest.
  await bundle({
    input: join(dist, 'cli', 'main.js'),
    external: (id) => outside(id) !== undefined,
    output: {
      dir: join(dist, 'svcctl'),
      format: 'cjs',
      paths: (id) => outside(id) ?? id,
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name].cjs',
    },
    plugins: [makeAhead, startNothing],
  });
}

/** Puts the names of the fields of answers in the place of the module that reads them from the schemas at each start. */
const makeAhead = {
  name: 'make-ahead',
  async load(id) {
    if (!id.endsWith('/answer-fields.js')) return null;
    const { answerFields } = await import(id);
    return `export const answerFields = ${JSON.stringify(answerFields)}`;
  },
};

/** No command of ours is a program of its own, for which commander would load a module that takes 3 ms. */
const startNothing = {
  name: 'start-nothing',
  transform(code, id) {
    if (!id.endsWith('/commander/lib/command.js')) return null;
    return code.replace("require('node:child_process')", '{}');
  },
};

async function bundle({ input, external, output, plugins = [] }) {
  const { rolldown } = await import('rolldown');
  const made = await rolldown({
    input,
    external,
    platform: 'node',
    // Its modules for Node are CommonJS, which would take a file of its own to load.
    resolve: { alias: { yaml: join(root, 'node_modules', 'yaml', 'browser', 'index.js') } },
    plugins: [...plugins, keepPlaces(output.dir), useOneByte],
  });
  await made.write({ ...output, comments: false });
  await made.close();
}

/**
 * V8 keeps the source of a module as long as the process lives, and with two bytes a character as soon as one of them
 * needs them: 4 MB more of an idle service. All such characters stand in strings, templates and regular expressions.
 */
const useOneByte = {
  name: 'use-one-byte',
  generateBundle(_options, made) {
    for (const chunk of Object.values(made)) {
      if (chunk.type === 'chunk') chunk.code = chunk.code.replace(/[\u0100-\uffff]/g, escapeUnit);
    }
  },
};

function escapeUnit(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * A module that looks for files beside itself goes on from where it was, not from where the bundle is. The bundler's own
 * module is no file: it looks from the bundle for what is installed beside it.
 */
function keepPlaces(folder) {
  return {
    name: 'keep-places',
    transform(code, id) {
      if (id.startsWith('\0') || !code.includes('import.meta.url')) return null;
      const place = JSON.stringify(relative(folder, id));
      return code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`);
    },
  };
}

/**
 * Puts compressed copies beside each text file, for browsers that accept them. It uses the strongest compression,
 * because this is done only once.
 */
function compressFiles(folder) {
  for (const path of files(folder).filter((path) => /\.(js|css|html|svg)$/.test(path))) {
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}

async function runTool(name, args, env = process.env) {
  const { code, output } = await run(installed(name), args, { env });
  if (code !== 0) throw new Error(`the sources do not compile:\n${output.trim()}`);
}

/** Removes the output of sources that no longer exist, so that no import can find it. */
function removeStale(source, output) {
  const wanted = new Set(
    files(source)
      .filter(isSource)
      .map((path) => join(output, relative(source, path)).replace(/\.ts$/, '')),
  );
  for (const path of files(output)) {
    if (path.endsWith(buildNotes) || path === join(output, 'commit')) continue;
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
  await tellingFaults(async () => {
    const built = await build({ force: process.argv.includes('--force') });
    process.stdout.write(built.length > 0 ? `built ${built.join(', ')}\n` : 'up to date\n');
  });
}
