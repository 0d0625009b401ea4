import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const needed = ['initdb', 'pg_ctl', 'postgres', 'pg_dump', 'pg_restore'];
const packaged = '/usr/lib/postgresql';

/**
 * Finds the folder of a PostgreSQL with pg_dump, which the package of the embedded one lacks: that of pg_config (or
 * PG_CONFIG), else the newest of Debian's. Throws what is missing.
 */
export async function findPrograms() {
  const versions = existsSync(packaged)
    ? readdirSync(packaged)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  const configured = await promisify(execFile)(process.env.PG_CONFIG ?? 'pg_config', [
    '--bindir',
  ]).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  const folders = [
    ...configured,
    ...versions.map((version) => join(packaged, String(version), 'bin')),
  ];
  const found = folders.find((folder) => needed.every((name) => existsSync(join(folder, name))));
  if (found !== undefined) return found;
  throw new Error(
    `there is no PostgreSQL with ${needed.join(', ')}: install postgresql-15 or newer, or name its pg_config in PG_CONFIG`,
  );
}
