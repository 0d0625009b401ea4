// The licenses of the libraries that are built into the package: they ask that whoever hands on their code hands on these
// texts, too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findUsed, readLockfile } from './lockfile.mjs';
import { root } from './program.mjs';

/** Those of the console's packages that build it, or check it, and leave nothing of theirs in it. */
const tools = /^(@types\/.*|@vitejs\/.*|vite|subset-font)$/;

/** Returns one text with the name, the version and the license of each library that is built in. */
export function collectLicenses() {
  const packages = readLockfile();
  const texts = [...findBuiltIn(packages)].map(([place, name]) =>
    describe(name, place, packages[place]),
  );
  return [...new Set(texts)].sort((a, b) => (a < b ? -1 : 1)).join(`\n${'-'.repeat(80)}\n\n`);
}

/** The names and places of the libraries that are built into the package, and of those that they use. */
export function findBuiltIn(packages) {
  const found = new Map();
  for (const from of ['packages/server', 'packages/console']) {
    const names = Object.keys(packages[from].devDependencies ?? {});
    findUsed(
      packages,
      names.filter((name) => !tools.test(name)),
      from,
      found,
    );
  }
  // The data of the demo is out of these.
  return findUsed(packages, ['vega-datasets', '@octokit/webhooks-examples'], '', found);
}

function describe(name, place, { version, license = 'no license named' }) {
  const folder = join(root, place);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const texts = files
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${[`${name} ${version} (${license})`, ...texts].join('\n\n')}\n`;
}
