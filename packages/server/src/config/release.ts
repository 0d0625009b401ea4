import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the version of this release, from package.json, which is two folders above src/config and dist/config. Behind a
 * plus stands the commit of which it was built, if the build knew one: two builds of one version can then be told apart.
 */
export function readRelease(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const commit = readCommit();
  return commit === '' ? version : `${version}+${commit}`;
}

/** The build leaves it beside what it has compiled; beside the sources there is none. */
function readCommit(): string {
  try {
    return readFileSync(new URL('../commit', import.meta.url), 'utf8').trim();
  } catch {
    return '';
  }
}

/** The folder of the documents that messages name as `docs/…`: in the package, or at the top of the repository. */
export function findDocs(): string {
  const [packed, own] = ['../../docs', '../../../../docs'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  ) as [string, string];
  return existsSync(packed) ? packed : own;
}
