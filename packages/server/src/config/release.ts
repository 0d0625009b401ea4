import { readFileSync } from 'node:fs';

/** Returns the version of this release, from package.json, which is two folders above src/config and dist/config. */
export function readRelease(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
