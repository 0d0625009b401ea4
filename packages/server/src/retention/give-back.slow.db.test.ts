import pino from 'pino';
import sql, { raw } from 'sql-template-tag';
import { beforeEach, expect, test, vi } from 'vitest';
import { testOnOneServer } from '../../test/one-server.ts';
import { createLog } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { sqlState } from '../platform/postgres/errors.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { giveBackSpace, measureHotSpace } from './give-back.ts';
import { addRecords, makeRecords, useTestMover } from './mover/testing/test-mover.ts';
import { differences } from './mover/testing/truth.ts';
import { listMonthSpaces } from './queries.ts';

const log = createLog('silent');
const never = new AbortController().signal;
const march = 'enrichment_records_2001_03';
const april = 'enrichment_records_2001_04';

const mover = useTestMover();
let tenants = 0;
let tenant: string;
const enrichment = JSON.stringify({ text: 'many words '.repeat(50) });
const recordsOf = (...given: Parameters<typeof makeRecords>) =>
  makeRecords(...given).map((record) => ({ ...record, enrichment }));
/** Two months, some megabytes each; in April another tenant has a few records behind all others. */
beforeEach(async () => {
  tenant = `T${++tenants}`;
  const days = ['2001-03-10', '2001-04-10'];
  await addRecords(mover.db, recordsOf(tenant, { days, perDay: 1500 }));
  await addRecords(mover.db, recordsOf(`${tenant}-late`, { days: ['2001-04-10'], perDay: 1 }));
  // The server's own vacuum may hold a table just then: its space would come back with the next run.
  for (const month of [march, april]) {
    await mover.db.query(sql`alter table ${raw(month)} set (autovacuum_enabled = false)`);
  }
});

/**
 * Moves a tenant, and waits until no transaction is left that began before. CLUSTER keeps what one of them might see, in
 * whatever database of the server: other test files have theirs on it.
 */
async function moveOut(name: string): Promise<void> {
  await mover.move(name, '2001-05-31');
  const [moved] = await mover.db.query<{ id: string }>(
    sql`select pg_current_xact_id()::text as id`,
  );
  const isPast = async () => {
    const [row] = await mover.db.query<{ is_past: boolean }>(
      sql`select pg_snapshot_xmin(pg_current_snapshot()) > ${moved?.id}::text::xid8 as is_past`,
    );
    return row?.is_past ?? false;
  };
  await vi.waitUntil(isPast, { timeout: 120_000 });
}

const giveBack = () => giveBackSpace(mover.db, { log, signal: never });
async function sizeOf(month: string): Promise<number> {
  const spaces = await listMonthSpaces(mover.db);
  return spaces.find(({ name }) => name === month)?.size_bytes ?? -1;
}
const rows = (of: string) =>
  mover.db.query(sql`
    select enrichment_records::text as row from enrichment_records where tenant = ${of} order by 1`);

// On a cluster a month is several tables, whose sizes, locks and counts of vacuums are the workers'.
testOnOneServer(
  'months whose records have moved give their space back, those with a few records too',
  async () => {
    const before = await rows(`${tenant}-late`);
    const full = { march: await sizeOf(march), april: await sizeOf(april) };
    expect(Math.min(full.march, full.april)).toBeGreaterThan(1_500_000);
    expect((await measureHotSpace(mover.db)).dead_bytes).toBe(0);
    await moveOut(tenant);
    const { dead_bytes: dead } = await measureHotSpace(mover.db);
    expect(dead).toBeGreaterThan(full.march + full.april - 300_000);

    const freed = await giveBack();
    expect(freed).toBeGreaterThan(full.march + full.april - 300_000);
    expect(await sizeOf(march)).toBeLessThan(130_000);
    expect(await sizeOf(april)).toBeLessThan(130_000);
    expect((await measureHotSpace(mover.db)).dead_bytes).toBe(0);
    expect(before).toHaveLength(2);
    expect(await rows(`${tenant}-late`)).toEqual(before);
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await differences(mover, `${tenant}-late`)).toEqual([]);
    expect(await giveBack()).toBe(0);
  },
);

testOnOneServer(
  'a snapshot keeps seeing what has moved; its space comes back when it has ended',
  async () => {
    const before = await rows(tenant);
    await mover.db.transaction(
      async (connection) => {
        await connection.query(sql`select count(*) from leaf_tenants`);
        await moveOut(tenant);
        const full = await sizeOf(march);
        await giveBack();
        expect(await sizeOf(march)).toBeGreaterThan(full - 200_000);
        const seen = await connection.query(sql`
        select enrichment_records::text as row from enrichment_records where tenant = ${tenant}
        order by 1`);
        expect(seen).toEqual(before);
      },
      { isolation: 'repeatable read' },
    );
    expect((await measureHotSpace(mover.db)).dead_bytes).toBeGreaterThan(3_000_000);
    await giveBack();
    expect(await sizeOf(march)).toBeLessThan(130_000);
    expect(await sizeOf(april)).toBeLessThan(130_000);
  },
);

testOnOneServer(
  'a month that somebody writes to is left to a later run, and waited for only shortly',
  async () => {
    const faults: unknown[] = [];
    const serializers = { err: (error: unknown) => sqlState(error) };
    const told = pino(
      { serializers },
      { write: (line: string) => void faults.push(JSON.parse(line).err) },
    );
    await moveOut(tenant);
    await mover.db.transaction(async (connection) => {
      await connection.query(sql`delete from enrichment_records where tenant = ${`${tenant}-late`}
      and store = 'none' and occurred_at >= '2001-04-01Z'`);
      await giveBackSpace(mover.db, { log: told, signal: never });
      expect(await sizeOf(april)).toBeGreaterThan(200_000);
    });
    // Lock not available; canceled (57014) would mean that others have waited behind it for as long.
    expect(faults.filter((fault) => fault !== undefined)).toEqual(['55P03']);
    expect(await sizeOf(march)).toBeLessThan(130_000);
    await giveBack();
    expect(await sizeOf(april)).toBeLessThan(130_000);
  },
);

test('a month most of whose records are live is vacuumed and not written anew', async () => {
  await addRecords(
    mover.db,
    recordsOf(`${tenant}-own`, { days: ['2001-03-11'], perDay: 3500, stores: ['DFW'] }),
  );
  await moveOut(tenant);
  const fileOf = () => mover.db.query(sql`select pg_relation_filenode(${march}::regclass) as file`);
  const before = await fileOf();
  await giveBack();
  expect(await fileOf()).toEqual(before);
  await moveOut(`${tenant}-own`);
  await giveBack();
});

/** Where a statement takes no longer than 2 s, and vacuum so long for each page that it reads or writes. */
async function withVacuum<T>(millis: number, work: (db: Database) => Promise<T>): Promise<T> {
  const url = new URL(mover.db.url);
  const costs = `-c vacuum_cost_delay=${millis}ms -c vacuum_cost_limit=20`;
  url.searchParams.set('options', `-c statement_timeout=2s ${costs}`);
  const settings = { url: url.href, maxConnections: 4, answerMillis: 2500, onError: () => {} };
  const db = openDatabase(settings);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

// The vacuums and pages of a cluster's month are the workers'.
testOnOneServer('a vacuum may take longer than a statement, and an abort ends it', async () => {
  await addRecords(
    mover.db,
    recordsOf(`${tenant}-own`, { days: ['2001-03-11'], perDay: 3500, stores: ['DFW'] }),
  );
  await moveOut(tenant);
  const vacuums = async () => {
    const [row] = await mover.db.query<{ count: number }>(
      sql`select pg_stat_get_vacuum_count(${march}::regclass) as count`,
    );
    return row?.count ?? 0;
  };
  const vacuuming = () =>
    mover.db.query(sql`select from pg_stat_activity where query like 'vacuum%' and state = 'active'
      and datname = current_database()`);
  const before = await vacuums();
  // Vacuum counts the pages that it is the first to write to.
  await mover.db.query(sql`checkpoint`);
  const abort = new AbortController();
  const broken = withVacuum(100, (db) => giveBackSpace(db, { log, signal: abort.signal }));
  const outcome = expect(broken).rejects.toThrow('enough');
  await vi.waitUntil(async () => (await vacuuming()).length === 1, { timeout: 120_000 });
  abort.abort(new Error('enough'));
  await outcome;
  await vi.waitUntil(async () => (await vacuuming()).length === 0, { timeout: 120_000 });
  expect(await vacuums()).toBe(before);
  await withVacuum(7, (db) => giveBackSpace(db, { log, signal: never }));
  expect(await vacuums()).toBe(before + 1);
  await moveOut(`${tenant}-own`);
  await giveBack();
});

test('an abort ends it and changes nothing', async () => {
  await moveOut(tenant);
  const reason = new Error('enough');
  const gone = giveBackSpace(mover.db, { log, signal: AbortSignal.abort(reason) });
  await expect(gone).rejects.toBe(reason);
  expect(await rows(`${tenant}-late`)).toHaveLength(2);
  await giveBack();
});
