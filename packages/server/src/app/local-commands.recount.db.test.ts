import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { untilLockWaits } from '../../test/one-server.ts';
import { useTestService } from '../../test/service.ts';
import { loadSettings } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';
import { recountRecords } from './local-commands.ts';
import { ingest, untilMoved } from './testing/backups.ts';

const service = useTestService({ SVC_RATE_LIMIT: '0' });
beforeAll(async () => {
  await ingest(service, { month: '2001-03', count: 60 });
  await untilMoved(service, '2001-04-01');
  await ingest(service, { month: '2001-03', count: 30, text: 'late' });
  await ingest(service, { month: '2001-04', count: 40 });
});

const recount = (more: { tenant?: string; isDry?: boolean } = {}) =>
  recountRecords(
    loadSettings({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir }),
    createLog('silent'),
    { tenant: null, isDry: false, signal: new AbortController().signal, ...more },
  );

const tables = [
  ...['leaf_days', 'leaf_months', 'leaf_stores', 'tenant_days', 'tenant_months', 'leaf_tenants'],
];

async function readCounters(): Promise<string[]> {
  const all = tables.map((table) =>
    service.db.query<{ text: string }>(
      sql`select ${table}::text || to_jsonb(t)::text as text from ${raw(table)} t order by 1`,
    ),
  );
  return (await Promise.all(all)).flat().map(({ text }) => text);
}

/** Breaks counters of every level, in either tier. */
async function breakCounters(): Promise<void> {
  const { db } = service;
  await db.query(sql`update leaf_days set count = count + 1, bytes = bytes + 7
    where tenant = 'T' and day = '2001-04-01'`);
  await db.query(sql`update leaf_days set cold_digest = 1, digest = 2
    where tenant = 'T' and day = '2001-03-01'`);
  await db.query(sql`delete from leaf_days where tenant = 'T' and day = '2001-03-04'`);
  await db.query(sql`insert into leaf_months (tenant, store, month, count, bytes, digest, first_at, last_at)
    values ('T', 'B', '2001-05', 1, 1, 1, now(), now())`);
  await db.query(sql`update tenant_months set cold_stored_bytes = 5 where tenant = 'T'`);
  await db.query(sql`delete from leaf_tenants where tenant = 'T'`);
}

async function verify() {
  const { id } = (await service.call('POST', '/retention/verify', { body: {} })).json;
  const read = async () => (await service.call('GET', `/retention/verify/${id}`)).json;
  await expect.poll(async () => (await read()).state, { timeout: 60_000 }).toBe('completed');
  return read();
}

test('counters that are right stay as they are', async () => {
  expect(await recount()).toEqual({ dry_run: false, tenants: 2, wrong: 0, problems: [], left: 0 });
});

test('a dry run tells what is wrong and changes nothing; then it is made anew, which a verification proves', async () => {
  const right = await readCounters();
  await breakCounters();
  const broken = await readCounters();
  const told = await recount({ isDry: true });
  expect(told).toMatchObject({ dry_run: true, tenants: 2, left: told.wrong });
  expect(told.wrong).toBeGreaterThanOrEqual(6);
  expect(told.problems[0]).toMatchObject({
    tenant: 'T',
    message: expect.stringContaining('records recount'),
  });
  expect(await recount({ tenant: 'U' })).toMatchObject({ tenants: 1, wrong: 0 });
  expect(await readCounters()).toEqual(broken);
  const done = await recount();
  expect(done).toMatchObject({ dry_run: false, wrong: told.wrong, left: 0 });
  expect(await readCounters()).toEqual(right);
  expect(await verify()).toMatchObject({ problem_count: 0 });
  const { data } = (await service.call('GET', '/audit?action=records.recount')).json;
  expect(data).toMatchObject([{ tenant: 'T', after: { wrong: told.wrong } }]);
});

test('what is stored while counters are made anew is counted once', async () => {
  await breakCounters();
  const storing = Array.from({ length: 40 }, (_, n) =>
    ingest(service, { month: '2001-04', count: 9, text: `meanwhile-${n}` }),
  );
  const [done] = await Promise.all([recount(), ...storing]);
  expect(done.wrong).toBeGreaterThan(0);
  expect(await recount({ isDry: true })).toMatchObject({ wrong: 0 });
  const [row] = await service.db.query(sql`select sum(count)::int as count from leaf_tenants`);
  expect(row).toEqual({ count: 130 + 40 * 9 });
});

test('whoever is changing counters is waited for', async () => {
  await breakCounters();
  const writer = await service.db.openSession();
  await writer.query(sql`begin`);
  const at = sql`'2001-03-09T00:00:00Z'::timestamptz`;
  await writer.query(sql`
    insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, bytes, digest, enrichment)
    values ('T', 'New', ${at}, 'e', now(), 10, 7, '{}')`);
  await writer.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
    values ('T', 'New', '2001-03-09', 1, 10, 7, ${at}, ${at})`);
  const recounting = recount();
  await untilLockWaits(service.db);
  await writer.query(sql`commit`);
  await writer.close();
  expect(await recounting).toMatchObject({ left: 0 });
  expect(await recount({ isDry: true })).toMatchObject({ wrong: 0 });
});
