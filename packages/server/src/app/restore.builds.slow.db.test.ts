import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { writeOldJournal } from '../../test/database.ts';
import { lastReplaced, replaced } from '../platform/postgres/baseline.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { manifestOf } from './testing/backups.ts';
import { contentOf, monthsSql, useBackedUp, useEmptyDatabase } from './testing/restoring.ts';

// Backups of other builds, older and newer.

const backups = useBackedUp();
const target = useEmptyDatabase(backups);

/** Packs the backup as the first form was, by gzip, and each month of records in two files, which it returns. */
async function packByGzip(): Promise<{ paths: string[]; mend: () => Promise<void> }> {
  const { tables, objects } = await manifestOf(backups.place, backups.id);
  const paths: string[] = [];
  const pack = async (key: string, rows: readonly string[]) => {
    const bytes = gzipSync(rows.join(''));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const file = { key: key.replace(/[^/]+$/, `${sha256}.gz`), rows: rows.length, sha256 };
    await writeFile(join(backups.place, file.key), bytes);
    return { ...file, size_bytes: bytes.length };
  };
  const readLines = async (key: string) =>
    brotliDecompressSync(await readFile(join(backups.place, key)))
      .toString()
      .split(/(?<=\n)/);
  for (const part of tables.flatMap(({ parts }) => parts)) {
    const [{ key } = { key: '' }] = part.files;
    const lines = await readLines(key);
    const middle = part.month === undefined ? lines.length : lines.length / 2;
    const files = [await pack(key, lines.slice(0, middle))];
    if (part.month !== undefined) files.push(await pack(key, lines.slice(middle)));
    if (part.month !== undefined) paths.push(...files.map((file) => join(backups.place, file.key)));
    Object.assign(part, { files });
  }
  const [{ key } = { key: '' }] = objects.lists;
  const lists = [await pack(key, await readLines(key))];
  const form = { format: 1, tables, objects: { ...objects, lists } };
  return {
    paths,
    mend: await backups.changeManifest((manifest) => void Object.assign(manifest, form)),
  };
}

/** What the first of the migrations, the baseline, stands for. */
const old = [...replaced].map(([name, checksum]) => ({ name, checksum }));

test('a backup of the last build before the baseline is restored', async () => {
  const mend = await backups.changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old.slice(0, 20));
  });
  await expect(target.restore()).rejects.toMatchObject({
    code: 'backup_older',
    detail: expect.stringMatching(`${old[20]?.name} .*"schema ${lastReplaced}"`),
  });
  expect(await target.db.query(sql`select from pg_tables where schemaname = 'public'`)).toEqual([]);
  await mend();
  const mendAgain = await backups.changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old);
  });
  expect((await target.restore()).verification.problem_count).toBe(0);
  expect(await contentOf(target.db)).toEqual(await contentOf(backups.service.db));
  await mendAgain();
});

test('a restore that the last build before the baseline has begun goes on', async () => {
  const mend = await backups.changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old);
  });
  await migrate(target.db);
  await writeOldJournal(target.db, new Map([...replaced].slice(0, 20)));
  await expect(target.restore()).rejects.toMatchObject({ code: 'database_not_empty' });
  await writeOldJournal(target.db);
  expect((await target.restore()).verification.problem_count).toBe(0);
  await mend();
});

test('a backup of the first form is restored, and goes on behind the files of a month that are loaded', async () => {
  const { paths, mend } = await packByGzip();
  expect(paths).toHaveLength(2);
  const [first = '', last = ''] = paths;
  const bytes = await readFile(last);
  await writeFile(last, bytes.subarray(4));
  const rows = () =>
    target.db.query(sql`select xmin::text, event_id from enrichment_records_2001_04`);
  // The failure of the one may come before the other is stored.
  const fail = async () => {
    await expect(target.restore()).rejects.toMatchObject({ code: 'backup_damaged' });
    return (await rows()).length > 0;
  };
  await vi.waitUntil(fail, { timeout: 60_000 });
  const loaded = await rows();
  expect(loaded).toHaveLength(35);
  await rm(first);
  await writeFile(last, bytes);
  expect((await target.restore()).verification.problem_count).toBe(0);
  expect(await rows()).toEqual(expect.arrayContaining(loaded));
  expect(await contentOf(target.db)).toEqual(await contentOf(backups.service.db));
  expect(await target.db.query(monthsSql)).toEqual(await backups.service.db.query(monthsSql));
  await mend();
});

test('a backup of a form to come is refused', async () => {
  const mend = await backups.changeManifest((manifest) => {
    manifest.format = 4;
  });
  await expect(target.restore({ id: backups.id })).rejects.toMatchObject({ code: 'backup_newer' });
  await mend();
});
