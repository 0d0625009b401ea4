// The licenses of the libraries that are built into the package: they ask that whoever hands on their code hands on these
// texts, too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './program.mjs';

/** Those of the console's packages that build it, or check it, and leave nothing of theirs in it. */
const tools = /^(@types\/.*|@vitejs\/.*|vite|subset-font)$/;

/** Returns one text with the name, the version and the license of each library, and of those that it uses. */
export function collectLicenses() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const found = new Map();
  const visit = (name, from) => {
    const place = resolve(packages, name, from);
    if (place === undefined || found.has(place)) return;
    found.set(place, describe(name, place, packages[place]));
    for (const next of Object.keys(packages[place].dependencies ?? {})) visit(next, place);
  };
  for (const from of ['packages/server', 'packages/console']) {
    const names = Object.keys(packages[from].devDependencies ?? {});
    for (const name of names.filter((name) => !tools.test(name))) visit(name, from);
  }
  // The data of the demo is out of these.
  for (const name of ['vega-datasets', '@octokit/webhooks-examples']) visit(name, '');
  return [...new Set(found.values())]
    .sort((a, b) => (a < b ? -1 : 1))
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** The place of a package, as Node finds it: in node_modules of the folder that asks, or of one above it. */
function resolve(packages, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '') return undefined;
  }
}

function describe(name, place, { version, license = 'no license named' }) {
  const folder = join(root, place);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const texts = files
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${[`${name} ${version} (${license})`, ...texts].join('\n\n')}\n`;
}
