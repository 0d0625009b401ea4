// What package-lock.json says of the packages that one of ours uses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './program.mjs';

/** The packages of the lockfile, by their places. */
export function readLockfile() {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
}

/** The names and places of these packages, as Node finds them from the folder `from`, and of all that they use. */
export function findUsed(packages, names, from, found = new Map()) {
  for (const name of names) {
    const place = resolve(packages, name, from);
    if (place === undefined || found.has(place)) continue;
    found.set(place, name);
    const { dependencies, optionalDependencies } = packages[place];
    findUsed(packages, Object.keys({ ...dependencies, ...optionalDependencies }), place, found);
  }
  return found;
}

/**
 * What npm-shrinkwrap.json holds for a workspace: the very versions and checksums of this lockfile for all that it
 * depends on, so that each installation gets what the tests ran with.
 */
export function shrinkwrapOf(workspace) {
  const packages = readLockfile();
  const { name, version, dependencies, bin, engines, license } = packages[workspace];
  const wrapped = { '': { name, version, license, dependencies, bin, engines } };
  for (const place of findUsed(packages, Object.keys(dependencies), workspace).keys()) {
    const own = place.startsWith(`${workspace}/`) ? place.slice(workspace.length + 1) : place;
    if (wrapped[own] !== undefined) throw new Error(`${own} is there in two versions`);
    // What is said of its place in this repository does not hold in the package.
    wrapped[own] = { ...packages[place], dev: undefined, devOptional: undefined, peer: undefined };
  }
  const sorted = Object.fromEntries(Object.entries(wrapped).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { name, version, lockfileVersion: 3, requires: true, packages: sorted };
}

/**
 * The same as dependencies of a package.json: npm passes over the shrinkwrap of a package that it installs from a file.
 * What only some platforms have is optional there, too.
 */
export function pinsOf({ packages }) {
  const pins = { dependencies: {}, optionalDependencies: {} };
  for (const [place, { version, optional }] of Object.entries(packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place) ?? [];
    if (name === undefined) continue;
    pins[optional === true ? 'optionalDependencies' : 'dependencies'][name] = version;
  }
  return pins;
}

/** The place of a package, as Node finds it: in node_modules of the folder that asks, or of one above it. */
function resolve(packages, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '') return undefined;
  }
}
