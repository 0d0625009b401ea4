import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Database } from '../src/platform/postgres/database.ts';
import { openDatabase } from '../src/platform/postgres/open-database.ts';
import { urlsOnNodes } from './database.ts';

/** What each server answers, where it is a cluster. */
export async function askServers<T>(
  { url }: { url: string },
  ask: (db: Database) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = [];
  for (const node of urlsOnNodes({ url })) {
    // A worker lists its shards to nobody who does not ask for them.
    const shown = `${node}?options=-c%20citus.override_table_visibility=off`;
    const db = openDatabase({ url: shown, maxConnections: 1, onError: () => {} });
    answers.push(await ask(db));
    await db.close();
  }
  return answers;
}

/** The files of this database, or of the log, that hold one of these texts. */
export async function filesWith(
  db: Database,
  texts: readonly string[],
  of: 'base' | 'pg_wal',
): Promise<string[]> {
  const [place] = await db.query<{ dir: string; base: string }>(sql`
    select current_setting('data_directory') as dir, 'base/' || oid as base from pg_database
    where datname = current_database()`);
  if (place === undefined) throw new Error('the server tells no folder');
  // What is in memory alone is in no file yet; and a later checkpoint may remove a part of the log.
  if (of === 'base') await db.query(sql`checkpoint`);
  const folder = join(place.dir, of === 'base' ? place.base : of);
  const found: string[] = [];
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0));
    if (texts.some((text) => bytes.includes(text))) found.push(name);
  }
  return found;
}

/** The tables, and their indexes and large values, whose files hold one of these texts; not those of the catalogue. */
export async function tablesWith(
  database: { url: string },
  ...texts: readonly string[]
): Promise<string[]> {
  const found = await askServers(database, async (db) => {
    const files = await filesWith(db, texts, 'base');
    // The name of a shard ends with its number.
    return db.query<{ name: string }>(sql`
      select regexp_replace(relname, '_[0-9]{6,}$', '') as name from pg_class
      where pg_relation_filenode(oid)::text = any(${files}) and relnamespace <> 'pg_catalog'::regnamespace`);
  });
  return [...new Set(found.flat().map(({ name }) => name))].sort();
}
