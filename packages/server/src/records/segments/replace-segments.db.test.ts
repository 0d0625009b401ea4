import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { createPartitions } from '../ingest/store-part.ts';
import { removeHotRows, replaceSegments } from './replace-segments.ts';
import { type NewSegment, type SegmentDay, sumTriples } from './segment.ts';

const db = useTestDatabase();
beforeAll(() => createPartitions(db).ensure(['2001-03', '2001-04']));

/** Seven bytes and the digest 5 a record; the first at one o'clock. */
function day(store: string, date: string, count: number, hour = 1): SegmentDay {
  const at = (n: number) => `${date}T${String(hour + n).padStart(2, '0')}:00:00.000000Z`;
  return {
    store,
    day: date,
    count,
    bytes: 7 * count,
    digest: String(5n * BigInt(count)),
    first_row: 0,
    first_at: at(0),
    last_at: at(count - 1),
  };
}

function segment(id: string, days: SegmentDay[], size = 101): NewSegment {
  const object = { object_key: `tenant=x/${id}`, size_bytes: size, sha256: Buffer.alloc(32) };
  return { id, ...object, days, pieces: null, eventFilter: Buffer.alloc(256) };
}

/** The tables of counters, and by what they count a tenant's records. */
const levels = {
  days: ['leaf_days', 'store, day'],
  months: ['leaf_months', 'store, month'],
  stores: ['leaf_stores', 'store'],
  tenantDays: ['tenant_days', 'day'],
  tenantMonths: ['tenant_months', 'month'],
  tenants: ['leaf_tenants', ''],
} as const;
const keyOf = (key: string) => (key === '' ? 'tenant' : `tenant, ${key}`);

/** Counters as if all of this were hot, and the hot rows with it. */
async function addHot(tenant: string, days: readonly SegmentDay[]): Promise<void> {
  const given = sql`(
    select ${tenant} as tenant, to_char(day, 'YYYY-MM') as month, each.*
    from json_to_recordset(${JSON.stringify(days)}::json) as each (store text, day date, count bigint,
      bytes bigint, digest numeric, first_at timestamptz, last_at timestamptz)
  ) given`;
  for (const [table, key] of Object.values(levels)) {
    await db.query(sql`
      insert into ${raw(`${table} (${keyOf(key)}`)}, count, bytes, digest, first_at, last_at)
      select ${raw(keyOf(key))}, sum(count), sum(bytes), sum(digest), min(first_at), max(last_at)
      from ${given} group by ${raw(keyOf(key))}`);
  }
  await db.query(sql`
    insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, bytes, digest, enrichment)
    select tenant, store, first_at + n * interval '1 hour', 'e', now(), 7, 5, '{}'
    from ${given}, generate_series(0, count::int - 1) n`);
}

/** Takes hot days into segments, as a move does. */
async function freeze(tenant: string, segments: readonly NewSegment[]) {
  const copied = segments.flatMap(({ days }) => days);
  return db.transaction((connection) =>
    replaceSegments(connection, {
      tenant,
      add: segments,
      remove: [],
      async removeHot(locked) {
        const readKeys = async function* (): AsyncGenerator<never> {};
        await removeHotRows(connection, locked, { tenant, copied, readKeys });
        return [];
      },
    }),
  );
}

type Level = keyof typeof levels;
type Counters = Record<Level, Record<string, unknown>[]>;

async function counters(tenant: string): Promise<Counters> {
  const found = Object.entries(levels).map(async ([level, [table, key]]) => {
    const columns = `${keyOf(key)}, ${table === 'leaf_days' ? 'cold_digest, ' : ''}`;
    const rows = await db.query(sql`
      select ${raw(columns)} count, bytes, digest, cold_count, cold_bytes, cold_stored_bytes,
        to_char(first_at at time zone 'UTC', 'DD HH24') as first,
        to_char(last_at at time zone 'UTC', 'DD HH24') as last
      from ${raw(table)} where tenant = ${tenant} order by ${raw(keyOf(key))}`);
    return [level, rows] as const;
  });
  return Object.fromEntries(await Promise.all(found)) as Counters;
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
  const cold = ([cold_count, cold_bytes, cold_stored_bytes]: readonly number[]) => ({
    count: cold_count,
    cold_count,
    cold_bytes,
    cold_stored_bytes,
  });
  const [one, two, three] = [cold([3, 21, 61]), cold([2, 14, 40]), cold([1, 7, 9])];
  expect(after.days).toMatchObject([
    { store: 'A', ...one, cold_digest: '15' },
    { store: 'A', ...two, cold_digest: '10' },
    { store: 'B', ...three, cold_digest: '5' },
  ]);
  expect(after.months).toMatchObject([{ cold_count: 5 }, { cold_count: 1 }]);
  expect(after.stores).toMatchObject([{ cold_count: 5 }, { cold_count: 1 }]);
  expect(after.tenantDays).toMatchObject([
    { day: '2001-03-01', ...one },
    { day: '2001-03-02', ...two },
    { day: '2001-04-01', ...three },
  ]);
  expect(after.tenantMonths).toMatchObject([
    { month: '2001-03', ...cold([5, 35, 101]) },
    { month: '2001-04', ...three },
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

test('a record too few of one day and one too many of another stop the move', async () => {
  const days = [day('A', '2001-03-01', 3), day('A', '2001-03-03', 3)];
  await addHot('pair', days);
  await db.query(sql`update enrichment_records set occurred_at = '2001-03-03T09:00:00Z'
    where tenant = 'pair' and occurred_at = '2001-03-01T02:00:00Z'`);
  const moving = freeze('pair', [segment('s1', days)]);
  await expect(moving).rejects.toThrow('store A from 2001-03-01 ');
  expect(await hotCount('pair')).toBe(6);
});

test('the rows of more stores than one statement takes are removed, and no others', async () => {
  const of = (from: number, n: number) =>
    Array.from({ length: n }, (_, index) => day(`S${from + index}`, '2001-03-02', 1));
  const neighbours = ['2001-03-01', '2001-03-03'].map((date) => day('S7', date, 1));
  const later = day('S0', '2001-03-05', 1);
  await addHot('many', [...of(0, 1003), ...neighbours, later]);
  await freeze('many', [segment('s1', [...of(0, 1002), later])]);
  expect(
    await db.query(sql`select store, occurred_at::date::text as day from enrichment_records
      where tenant = 'many' order by day`),
  ).toEqual([
    { store: 'S7', day: '2001-03-01' },
    { store: 'S1002', day: '2001-03-02' },
    { store: 'S7', day: '2001-03-03' },
  ]);
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
      tenant: 'erase',
      add: [segment('s2', [kept], 20)],
      remove: ['s1'],
      isErasing: true,
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
  const march = { count: 1, bytes: 7, digest: '5', cold_count: 1, first: '02 02', last: '02 02' };
  const april = { count: 1, bytes: 7, digest: '5', cold_count: 0, first: '01 02', last: '01 02' };
  const both = { ...march, count: 2, bytes: 14, digest: '10', last: '01 02' };
  expect(await counters('erase')).toMatchObject({
    days: [{ ...march, cold_stored_bytes: 20 }, april],
    months: [
      { month: '2001-03', ...march },
      { month: '2001-04', ...april },
    ],
    stores: [both],
    tenantDays: [
      { day: '2001-03-02', ...march },
      { day: '2001-04-01', ...april },
    ],
    tenantMonths: [
      { month: '2001-03', ...march },
      { month: '2001-04', ...april },
    ],
    tenants: [both],
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
    days: [{ store: 'B' }],
    months: [{ store: 'B' }],
    stores: [{ store: 'B' }],
    tenantDays: [{ count: 1 }],
    tenantMonths: [{ count: 1 }],
    tenants: [{ count: 1 }],
  });
  const rest = { tenant: 'all', add: [], remove: ['s2'], isErasing: true };
  await db.transaction((connection) => replaceSegments(connection, rest));
  expect(await counters('all')).toEqual({
    days: [],
    months: [],
    stores: [],
    tenantDays: [],
    tenantMonths: [],
    tenants: [],
  });
});

test('a day that changed since it was copied loses exactly the copied keys', async () => {
  const copied = day('A', '2001-03-01', 2);
  await addHot('late', [copied, day('A', '2001-03-01', 1, 9)]);
  await db.transaction((connection) =>
    replaceSegments(connection, {
      tenant: 'late',
      add: [segment('s1', [copied])],
      remove: [],
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
