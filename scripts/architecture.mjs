// Checks that ARCHITECTURE.md is true: every file and folder that it names exists, and it names every folder below the
// sources of the server and the console; and that the tests are there which SECURITY.md names.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { isMain, root } from './program.mjs';

const sources = ['packages/server/src', 'packages/console/src'];

/**
 * Answers one sentence for each name in the text that does not exist, and for each folder that the text does not name.
 */
export function findStaleNames(text, { files, folders }) {
  const names = [...text.matchAll(/[\w.*/-]+/g)].map(([name]) => name.replace(/^\.?\//, ''));
  const isThere = (name) =>
    files.some((file) => file === name || file.endsWith(`/${name}`)) ||
    folders.some((folder) => `${folder}/` === name || `/${folder}/`.endsWith(`/${name}`));
  const stale = names.filter(
    (name) => /^[\w/-]+(\.[\w-]+)*\.(tsx?|mjs)$/.test(name) && !isThere(name),
  );
  const staleFolders = [...text.matchAll(/`((?:[\w-]+\/)+)`/g)]
    .map(([, name]) => name)
    .filter((name) => !isThere(name));
  const unnamed = folders.filter((folder) => {
    return !names.some((name) => `/${name}`.endsWith(`/${folder.split('/').at(-1)}/`));
  });
  return [
    ...[...new Set([...stale, ...staleFolders])].map((name) => `names ${name}, which is not there`),
    ...unnamed.map((folder) => `does not name the folder ${folder}/`),
  ];
}

/** Lists the files of the repository, and the folders that ARCHITECTURE.md has to name. */
function readTree() {
  const files = [];
  const folders = [...sources];
  for (const source of sources) {
    for (const entry of readdirSync(join(root, source), { recursive: true, withFileTypes: true })) {
      const path = relative(root, join(entry.parentPath, entry.name)).split(sep).join('/');
      if (entry.isFile()) files.push(path);
      // ARCHITECTURE.md need not name folders deeper than those directly in a feature, nor those that only tests use.
      else if (path.split('/').length <= 5 && entry.name !== 'testing') folders.push(path);
    }
  }
  for (const folder of ['scripts', 'bench', 'e2e', 'packages/server/migrations']) {
    for (const name of readdirSync(join(root, folder))) files.push(`${folder}/${name}`);
    folders.push(folder);
  }
  return { files, folders };
}

export function checkArchitecture() {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  return findStaleNames(text, readTree())
    .map((fault) => `ARCHITECTURE.md ${fault}\n`)
    .join('');
}

/** Answers a sentence for each test, or folder of tests, that the text names and is not there. */
export function checkSecurity(text = readFileSync(join(root, 'SECURITY.md'), 'utf8')) {
  const places = [root, join(root, 'packages', 'server', 'src')];
  return [...text.matchAll(/`([\w./-]+(?:\.test\.ts|\/))`/g)]
    .filter(([, name]) => !places.some((place) => existsSync(join(place, name))))
    .map(([, name]) => `SECURITY.md names ${name}, which is not there\n`)
    .join('');
}

if (isMain(import.meta.url)) {
  const faults = checkArchitecture() + checkSecurity();
  process.stdout.write(faults);
  process.exitCode = faults === '' ? 0 : 1;
}
