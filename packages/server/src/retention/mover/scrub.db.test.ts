import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { urlsOnNodes } from '../../../test/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import { giveBackSpace } from '../give-back.ts';
import { moveTenant } from './move-tenant.ts';
import { eraseOnce } from './testing/eraser.ts';
import { at, dieAt } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences } from './testing/truth.ts';

const mover = useTestMover();

const day = '2001-03-10';
/** Ends behind all others of its page, where no other row takes its place. */
async function seed(
  tenant: string,
  secret: string,
  days: readonly string[] = [day],
): Promise<void> {
  const rows = makeRecords(tenant, { days, stores: ['DFW'], perDay: 300 });
  const last = makeRecords(tenant, { days, stores: ['ORD'], perDay: 1, prefix: secret });
  await addRecords(mover.db, rows);
  await addRecords(
    mover.db,
    last.map((row) => ({ ...row, enrichment: JSON.stringify({ text: secret }) })),
  );
}

/** What each server answers, where it is a cluster. */
async function askServers<T>(ask: (db: Database) => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  for (const node of urlsOnNodes(mover.db)) {
    // A worker lists its shards to nobody who does not ask for them.
    const url = `${node}?options=-c%20citus.override_table_visibility=off`;
    const db = openDatabase({ url, maxConnections: 1, onError: () => {} });
    answers.push(await ask(db));
    await db.close();
  }
  return answers;
}

/** The files of this database, or of the log, that hold a text. */
async function filesWith(db: Database, text: string, of: 'base' | 'pg_wal'): Promise<string[]> {
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
    if (bytes.includes(text)) found.push(name);
  }
  return found;
}

async function tablesWith(text: string): Promise<string[]> {
  const found = await askServers(async (db) => {
    const files = await filesWith(db, text, 'base');
    // The name of a shard ends with its number.
    return db.query<{ name: string }>(sql`
      select regexp_replace(relname, '_[0-9]{6,}$', '') as name from pg_class
      where pg_relation_filenode(oid)::text = any(${files}) and relnamespace <> 'pg_catalog'::regnamespace`);
  });
  return [...new Set(found.flat().map(({ name }) => name))].sort();
}

const whats = (receipt: { remains: { what: string }[] }) => receipt.remains.map(({ what }) => what);
const march = 'enrichment_records_2001_03';
const may = 'enrichment_records_2001_05';
const never = new AbortController().signal;

test.each([
  ['event', 'T', 'secret-of-one', { event_ids: ['secret-of-one-0'] }],
  ['subject', 'U', 'secret-person', { subject: { field: 'text', value: 'secret-person' } }],
])(
  'what was erased by %s is in no file of a table any more; the receipt says where it still is',
  async (_by, tenant, secret, whose) => {
    await seed(tenant, secret);
    expect(await tablesWith(secret)).toEqual([march, `${march}_pkey`]);
    let switchedAt = '';
    const look = at('switched after', async () => {
      const [log] = await mover.db.query<{ at: string }>(
        sql`select pg_current_wal_lsn()::text as at`,
      );
      switchedAt = log?.at ?? '';
    });
    const receipt = await eraseOnce(mover, { tenant, ...whose }, look);
    expect(receipt).toMatchObject({ state: 'removed', hot_count: 1 });
    const [checkpoint] = await mover.db.query(
      sql`select redo_lsn > ${switchedAt}::pg_lsn as is_later from pg_control_checkpoint()`,
    );
    expect(checkpoint).toEqual({ is_later: true });
    expect(await tablesWith(secret)).toEqual([]);
    const log = await askServers((db) => filesWith(db, secret, 'pg_wal'));
    expect(log.flat()).not.toEqual([]);
    expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);

test('one record of a large month is in no file of a table any more, though a vacuum would leave what is on few pages', async () => {
  const secret = 'secret-of-many';
  const rows = makeRecords('many', { days: [day], stores: ['DFW'], perDay: 10_000 });
  await addRecords(mover.db, rows);
  await seed('many', secret, ['2001-03-11']);
  const receipt = await eraseOnce(mover, { tenant: 'many', event_ids: [`${secret}-0`] });
  expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);
  expect(await tablesWith(secret)).toEqual([]);
});

test('a dry run and an erasure of nothing leave nothing, and say so', async () => {
  await seed('none', 'secret-none');
  const dry = await eraseOnce(mover, { tenant: 'none', store: 'ORD', dry_run: true });
  expect(dry.remains).toEqual([]);
  const nothing = await eraseOnce(mover, { tenant: 'none', event_ids: ['nobody'] });
  expect(nothing.remains).toEqual([]);
});

test('what had moved before it was erased is in no file of a table, and the receipt tells until when objects stay', async () => {
  const secret = 'secret-cold';
  // Enough live records of others that giving space back leaves the month as it is.
  await addRecords(mover.db, makeRecords('other', { days: [day], perDay: 1000 }));
  await seed('cold', secret);
  await mover.move('cold', day);
  await giveBackSpace(mover.db, { log: mover.context().log, signal: never });
  expect(await tablesWith(secret)).toEqual([march, `${march}_pkey`]);
  const request = { tenant: 'cold', event_ids: [`${secret}-0`] };
  const receipt = await eraseOnce(mover, request, { graceSeconds: 30 });
  expect(receipt).toMatchObject({ state: 'switched', hot_count: 0, cold_count: 1 });
  expect(await tablesWith(secret)).toEqual([]);
  expect(whats(receipt)).toEqual(['objects', 'ids', 'wal', 'backups']);
  expect(receipt.remains[0]?.until).toBe(receipt.objects_removed_after);
  expect(receipt.objects_removed_after).not.toBeNull();
});

const scrubOf = async (id: string | null) => {
  const [move] = await mover.db.query(
    sql`select state, scrub_due, scrubbed from moves where id = ${id}`,
  );
  return move;
};

/** By the counters, which tell what a month is worth. */
async function makeLarge(month: string): Promise<void> {
  await mover.db.query(sql`
    insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at)
    values ('huge', ${month}, 1000, ${2 ** 28}, 0, now(), now()) on conflict do nothing`);
}

/** Vacuum takes 400 ms a page, and a statement 2 s, at most. */
function openSlowVacuum(): Database {
  const url = new URL(mover.db.url);
  const options = { statement_timeout: '2s', vacuum_cost_delay: '100ms', vacuum_cost_limit: 1 };
  const told = Object.entries(options).map(([name, value]) => `-c ${name}=${value}`);
  url.searchParams.set('options', told.join(' '));
  return openDatabase({ url: url.href, maxConnections: 4, onError: () => {} });
}

test('a month too large to be written anew is not vacuumed, and the erasure ends', async () => {
  await seed('large', 'secret-large', ['2001-05-11']);
  await makeLarge('2001-05');
  const db = openSlowVacuum();
  try {
    const receipt = await eraseOnce(mover, { tenant: 'large', store: 'ORD' }, { db });
    expect(receipt).toMatchObject({ state: 'removed', erased: { count: 1 } });
    expect(whats(receipt)).toEqual(['hot_pages', 'ids', 'wal', 'backups']);
    expect(await scrubOf(receipt.id)).toMatchObject({ scrubbed: { kept: [may] } });
  } finally {
    await db.close();
  }
});

test('rows that a snapshot may see stay due, and the next run removes them', async () => {
  const secret = 'secret-of-two';
  await seed('seen', secret, [day, '2001-05-10']);
  await makeLarge('2001-05');
  const receipt = await mover.db.transaction(
    async (connection) => {
      await connection.query(sql`select count(*) from leaf_tenants`);
      const request = { tenant: 'seen', event_ids: [`${secret}-0`] };
      return eraseOnce(mover, request, { snapshotMillis: 500 });
    },
    { isolation: 'repeatable read' },
  );
  expect(receipt).toMatchObject({ state: 'switched', erased: { count: 2 } });
  expect(whats(receipt)).toEqual(['hot_pages', 'hot_pages', 'ids', 'wal', 'backups']);
  expect(receipt.remains[0]?.note).toContain('the month 2001-03, the journal of moves');
  expect(receipt.remains[1]?.note).toContain('the month 2001-05, which is too large');
  expect(await tablesWith(secret)).toContain(march);
  await moveTenant(mover.context(), {
    tenant: 'seen',
    lastDay: '1999-12-31',
    runId: null,
    signal: never,
  });
  expect(await tablesWith(secret)).toEqual([may, `${may}_pkey`]);
  expect(await scrubOf(receipt.id)).toEqual({
    state: 'removed',
    scrub_due: null,
    scrubbed: { kept: [may], hasCheckpoint: true },
  });
});

test('a process that is killed before it cleans up leaves that to the next one', async () => {
  const secret = 'secret-of-three';
  await seed('killed', secret);
  const request = { tenant: 'killed', event_ids: [`${secret}-0`] };
  await expect(eraseOnce(mover, request, dieAt('switched after'))).rejects.toThrow('killed');
  expect(await tablesWith(secret)).toContain(march);
  await mover.move('killed', '1999-12-31');
  expect(await tablesWith(secret)).toEqual([]);
});
