import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { createPartitions } from '../ingest/store-part.ts';
import { removeHotRows, replaceSegments } from './replace-segments.ts';
import { type NewSegment, type SegmentDay, sumTriples } from './segment.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await createPartitions(db).ensure(['2001-03', '2001-04']);
});
afterAll(() => db.drop());

/** Seven bytes and the digest 5 a record; the first at one o'clock. */
function day(store: string, date: string, count: number, hour = 1): SegmentDay {
  const at = (n: number) => `${date}T${String(hour + n).padStart(2, '0')}:00:00.000000Z`;
  return {
    ...{ store, day: date, count, bytes: 7 * count, digest: String(5n * BigInt(count)) },
    ...{ first_row: 0, first_at: at(0), last_at: at(count - 1) },
  };
}

function segment(id: string, days: SegmentDay[], size = 101): NewSegment {
  const object = { object_key: `tenant=x/${id}`, size_bytes: size, sha256: Buffer.alloc(32) };
  return { id, ...object, days, pieces: null };
}

/** Counters as if all of this were hot, and the hot rows with it. */
async function addHot(tenant: string, days: readonly SegmentDay[]): Promise<void> {
  for (const { store, day: date, count, bytes, digest, first_at, last_at } of days) {
    const values = sql`${count}::bigint, ${bytes}::bigint, ${digest}::numeric, ${first_at}::timestamptz,
      ${last_at}::timestamptz`;
    const add = sql`count = c.count + excluded.count, bytes = c.bytes + excluded.bytes,
      digest = c.digest + excluded.digest, first_at = least(c.first_at, excluded.first_at),
      last_at = greatest(c.last_at, excluded.last_at)`;
    await db.query(sql`insert into leaf_days as c (tenant, store, day, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${store}, ${date}::date, ${values}) on conflict (tenant, store, day) do update set ${add}`);
    await db.query(sql`insert into leaf_months as c (tenant, store, month, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${store}, ${date.slice(0, 7)}, ${values}) on conflict (tenant, store, month) do update set ${add}`);
    await db.query(sql`insert into leaf_stores as c (tenant, store, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${store}, ${values}) on conflict (tenant, store) do update set ${add}`);
    await db.query(sql`insert into tenant_days as c (tenant, day, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${date}::date, ${values}) on conflict (tenant, day) do update set ${add}`);
    await db.query(sql`insert into tenant_months as c (tenant, month, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${date.slice(0, 7)}, ${values}) on conflict (tenant, month) do update set ${add}`);
    await db.query(sql`insert into leaf_tenants as c (tenant, count, bytes, digest, first_at, last_at)
      values (${tenant}, ${values}) on conflict (tenant) do update set ${add}`);
    await db.query(sql`
      insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, bytes, digest, enrichment)
      select ${tenant}, ${store}, ${first_at}::timestamptz + n * interval '1 hour', 'e', now(), 7, 5, '{}'
      from generate_series(0, ${count}::int - 1) n`);
  }
}

/** Takes hot days into segments, as a move does. */
async function freeze(tenant: string, segments: readonly NewSegment[]) {
  const copied = segments.flatMap(({ days }) => days);
  return db.transaction((connection) =>
    replaceSegments(connection, {
      ...{ tenant, add: segments, remove: [] },
      async removeHot(locked) {
        const readKeys = async function* (): AsyncGenerator<never> {};
        await removeHotRows(connection, locked, { tenant, copied, readKeys });
        return [];
      },
    }),
  );
}

async function counters(tenant: string) {
  const columns = sql`count, bytes, digest, cold_count, cold_bytes, cold_stored_bytes,
    to_char(first_at at time zone 'UTC', 'DD HH24') as first, to_char(last_at at time zone 'UTC', 'DD HH24') as last`;
  return {
    days: await db.query(
      sql`select store, day, cold_digest, ${columns} from leaf_days where tenant = ${tenant} order by store, leaf_days.day`,
    ),
    months: await db.query(
      sql`select store, month, ${columns} from leaf_months where tenant = ${tenant} order by store, month`,
    ),
    stores: await db.query(
      sql`select store, ${columns} from leaf_stores where tenant = ${tenant} order by store`,
    ),
    tenantDays: await db.query(
      sql`select day, ${columns} from tenant_days where tenant = ${tenant} order by tenant_days.day`,
    ),
    tenantMonths: await db.query(
      sql`select month, ${columns} from tenant_months where tenant = ${tenant} order by month`,
    ),
    tenants: await db.query(sql`select ${columns} from leaf_tenants where tenant = ${tenant}`),
  };
}

async function hotCount(tenant: string) {
  const [row] = await db.query(
    sql`select count(*) as count from enrichment_records where tenant = ${tenant}`,
  );
  return row?.count;
}

test('hot days become cold: cold shares come in on every level, the rest stays', async () => {
  const days = [day('A', '2001-03-01', 3), day('A', '2001-03-02', 2), day('B', '2001-04-01', 1)];
  await addHot('move', days);
  expect(
    await freeze('move', [segment('s1', days.slice(0, 2)), segment('s2', days.slice(2), 9)]),
  ).toEqual([]);
  const after = await counters('move');
  expect(after.days).toMatchObject([
    {
      store: 'A',
      count: 3,
      cold_count: 3,
      cold_bytes: 21,
      cold_digest: '15',
      cold_stored_bytes: 61,
    },
    {
      store: 'A',
      count: 2,
      cold_count: 2,
      cold_bytes: 14,
      cold_digest: '10',
      cold_stored_bytes: 40,
    },
    { store: 'B', count: 1, cold_count: 1, cold_bytes: 7, cold_digest: '5', cold_stored_bytes: 9 },
  ]);
  expect(after.months).toMatchObject([{ cold_count: 5 }, { cold_count: 1 }]);
  expect(after.stores).toMatchObject([{ cold_count: 5 }, { cold_count: 1 }]);
  expect(after.tenantDays).toMatchObject([
    { day: '2001-03-01', count: 3, cold_count: 3, cold_bytes: 21, cold_stored_bytes: 61 },
    { day: '2001-03-02', count: 2, cold_count: 2, cold_bytes: 14, cold_stored_bytes: 40 },
    { day: '2001-04-01', count: 1, cold_count: 1, cold_bytes: 7, cold_stored_bytes: 9 },
  ]);
  expect(after.tenantMonths).toMatchObject([
    { month: '2001-03', count: 5, cold_count: 5, cold_bytes: 35, cold_stored_bytes: 101 },
    { month: '2001-04', count: 1, cold_count: 1, cold_bytes: 7, cold_stored_bytes: 9 },
  ]);
  expect(after.tenants).toMatchObject([
    { count: 6, bytes: 42, digest: '30', cold_count: 6, cold_bytes: 42, cold_stored_bytes: 110 },
  ]);
  expect(await hotCount('move')).toBe(0);
});

test('hot rows that the counters do not tell of stop the move', async () => {
  const days = [day('A', '2001-03-01', 3)];
  await addHot('odd', days);
  await db.query(sql`delete from enrichment_records where tenant = 'odd'
    and occurred_at = '2001-03-01T02:00:00Z'`);
  const before = await counters('odd');
  await expect(freeze('odd', [segment('s1', days)])).rejects.toThrow('nothing was moved');
  expect(await counters('odd')).toEqual(before);
  expect(await hotCount('odd')).toBe(2);
});

test('more cold records than there are records are refused', async () => {
  await addHot('more', [day('A', '2001-03-01', 3)]);
  const change = { tenant: 'more', add: [segment('s1', [day('A', '2001-03-01', 4)])], remove: [] };
  const changing = db.transaction((connection) => replaceSegments(connection, change));
  await expect(changing).rejects.toThrow('1 would be wrong');
  expect(await db.query(sql`select id from segments where tenant = 'more'`)).toEqual([]);
});

test('a segment that is not live cannot be replaced', async () => {
  const change = { tenant: 'none', add: [], remove: ['s1'] };
  const changing = db.transaction((connection) => replaceSegments(connection, change));
  await expect(changing).rejects.toThrow('not in the catalogue');
});

test('merged segments keep all counters but the stored bytes', async () => {
  const [a, b] = [day('A', '2001-03-01', 3), day('A', '2001-03-02', 2)];
  await addHot('merge', [a, b]);
  await freeze('merge', [segment('s1', [a]), segment('s2', [b])]);
  const before = await counters('merge');
  await db.transaction((connection) =>
    replaceSegments(connection, {
      tenant: 'merge',
      add: [segment('s3', [a, { ...b, first_row: 3 }], 150)],
      remove: ['s1', 's2'],
    }),
  );
  const after = await counters('merge');
  expect(after.tenants).toMatchObject([{ cold_count: 5, cold_stored_bytes: 150 }]);
  expect(after.months.map((row) => ({ ...row, cold_stored_bytes: 0 }))).toEqual(
    before.months.map((row) => ({ ...row, cold_stored_bytes: 0 })),
  );
  expect(await db.query(sql`select id, count from segments where tenant = 'merge'`)).toEqual([
    { id: 's3', count: 5 },
  ]);
});

test('erased records leave all counters, and first and last times follow', async () => {
  const [a, b, c] = [
    day('A', '2001-03-01', 3),
    day('A', '2001-03-02', 2),
    day('A', '2001-04-01', 2),
  ];
  await addHot('erase', [a, b, c]);
  await freeze('erase', [segment('s1', [a, b])]);
  const kept = day('A', '2001-03-02', 1, 2);
  const gone = await db.transaction((connection) =>
    replaceSegments(connection, {
      ...{ tenant: 'erase', add: [segment('s2', [kept], 20)], remove: ['s1'], isErasing: true },
      hotDays: [c],
      async removeHot(locked) {
        expect(locked.map((row) => row.day)).toEqual(['2001-03-01', '2001-03-02', '2001-04-01']);
        await connection.query(sql`delete from enrichment_records where tenant = 'erase'
          and occurred_at = '2001-04-01T01:00:00Z'`);
        return [{ store: 'A', day: '2001-04-01', count: 1, bytes: 7, digest: '5' }];
      },
    }),
  );
  expect(sumTriples(gone)).toEqual({ count: 5, bytes: 35, digest: '25' });
  expect(await counters('erase')).toMatchObject({
    days: [
      {
        count: 1,
        bytes: 7,
        digest: '5',
        cold_count: 1,
        cold_stored_bytes: 20,
        first: '02 02',
        last: '02 02',
      },
      { count: 1, bytes: 7, digest: '5', cold_count: 0, first: '01 02', last: '01 02' },
    ],
    months: [
      { month: '2001-03', count: 1, cold_count: 1, first: '02 02', last: '02 02' },
      { month: '2001-04', count: 1, cold_count: 0, first: '01 02' },
    ],
    stores: [{ count: 2, bytes: 14, digest: '10', cold_count: 1, first: '02 02', last: '01 02' }],
    tenantDays: [
      { day: '2001-03-02', count: 1, digest: '5', cold_count: 1, first: '02 02', last: '02 02' },
      { day: '2001-04-01', count: 1, digest: '5', cold_count: 0, first: '01 02', last: '01 02' },
    ],
    tenantMonths: [
      { month: '2001-03', count: 1, digest: '5', cold_count: 1, first: '02 02', last: '02 02' },
      { month: '2001-04', count: 1, digest: '5', cold_count: 0, first: '01 02', last: '01 02' },
    ],
    tenants: [{ count: 2, bytes: 14, digest: '10', cold_count: 1, first: '02 02', last: '01 02' }],
  });
});

test('counters that count nothing any more are gone', async () => {
  const days = [day('A', '2001-03-01', 3), day('B', '2001-03-01', 1)];
  await addHot('all', days);
  await freeze('all', [segment('s1', days)]);
  const erase = {
    tenant: 'all',
    add: [segment('s2', days.slice(1))],
    remove: ['s1'],
    isErasing: true,
  };
  await db.transaction((connection) => replaceSegments(connection, erase));
  expect(await counters('all')).toMatchObject({
    ...{ days: [{ store: 'B' }], months: [{ store: 'B' }], stores: [{ store: 'B' }] },
    tenantDays: [{ count: 1 }],
    tenantMonths: [{ count: 1 }],
    tenants: [{ count: 1 }],
  });
  const rest = { tenant: 'all', add: [], remove: ['s2'], isErasing: true };
  await db.transaction((connection) => replaceSegments(connection, rest));
  expect(await counters('all')).toEqual({
    ...{ days: [], months: [], stores: [], tenantDays: [], tenantMonths: [], tenants: [] },
  });
});

test('a day that changed since it was copied loses exactly the copied keys', async () => {
  const copied = day('A', '2001-03-01', 2);
  await addHot('late', [copied, day('A', '2001-03-01', 1, 9)]);
  await db.transaction((connection) =>
    replaceSegments(connection, {
      ...{ tenant: 'late', add: [segment('s1', [copied])], remove: [] },
      async removeHot(locked) {
        const readKeys = async function* () {
          yield { occurredAt: ['2001-03-01T01:00:00Z'], eventIds: ['e'] };
          yield { occurredAt: ['2001-03-01T02:00:00Z'], eventIds: ['e'] };
        };
        await removeHotRows(connection, locked, { tenant: 'late', copied: [copied], readKeys });
        return [];
      },
    }),
  );
  const left = await db.query(
    sql`select occurred_at from enrichment_records where tenant = 'late'`,
  );
  expect(left).toEqual([{ occurred_at: '2001-03-01 09:00:00+00' }]);
  expect(await counters('late')).toMatchObject({
    tenantDays: [{ count: 3, cold_count: 2 }],
    tenantMonths: [{ count: 3, cold_count: 2 }],
    tenants: [{ count: 3, cold_count: 2 }],
  });
});
