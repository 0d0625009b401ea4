// The licenses of the libraries that are built into the package: they ask that whoever hands on their code hands on these
// texts, too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findUsed, readLockfile } from './lockfile.mjs';
import { root } from './program.mjs';

/** Those of the console's packages that build it, or check it, and leave nothing of theirs in it. */
const tools = /^(@types\/.*|@vitejs\/.*|vite|subset-font)$/;

/** Returns one text with the name, the version and the license of each library, and of those that it uses. */
export function collectLicenses() {
  const packages = readLockfile();
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
  findUsed(packages, ['vega-datasets', '@octokit/webhooks-examples'], '', found);
  const texts = [...found].map(([place, name]) => describe(name, place, packages[place]));
  return [...new Set(texts)].sort((a, b) => (a < b ? -1 : 1)).join(`\n${'-'.repeat(80)}\n\n`);
}

function describe(name, place, { version, license = 'no license named' }) {
  const folder = join(root, place);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const texts = files
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${[`${name} ${version} (${license})`, ...texts].join('\n\n')}\n`;
}
