import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import type { DatasetRow } from '../contract.ts';
import { type DatasetsRequest, listDatasets } from '../datasets.ts';
import * as queries from '../queries.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import type { DayRow } from '../tags.contract.ts';
import { readCoverage } from './coverage.ts';
import { listDays } from './days.ts';
import { arbitraryTags, countTagged, putTags, type TestTag } from './testing/arbitrary-tags.ts';
import { readTagsOf } from './windows.ts';

const stores = ['A', 'B', 'Ünï'];
const days = [
  ...['2001-01-01', '2001-01-02', '2001-01-15', '2001-01-31', '2001-02-01', '2001-02-28'],
  ...['2001-03-01', '2001-03-31', '2001-04-01', '2002-01-01'],
];
/** More stores and tenants than it takes to read their counters in one pass. */
const [manyStores, tenants] = ['S', 'T'].map((letter) =>
  Array.from({ length: 55 }, (_, n) => `${letter}${String(n).padStart(2, '0')}`),
) as [string[], string[]];
const someDays = ['2001-01-15', '2001-02-28', '2001-03-31'];
const records = [
  // Of each store and day 0 to 3.
  ...['CA', 'TX'].flatMap((tenant, t) =>
    stores.flatMap((store, s) =>
      days.flatMap((day, d) =>
        Array.from({ length: (t + 2 * s + d) % 4 }, (_, n) => ({ tenant, store, day, n })),
      ),
    ),
  ),
  // Stores with the same first and last day are read together.
  ...manyStores.flatMap((store, s) =>
    someDays
      .filter((_, d) => d !== 1 || s % 3 > 0)
      .map((day) => ({ tenant: 'TX', store, day, n: 0 })),
  ),
  ...tenants.flatMap((tenant) => someDays.map((day) => ({ tenant, store: 'A', day, n: 0 }))),
];

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  await ingest(db, cold, [records.map(toRecord)]);
  // Of TX some days are cold, and one of them has a late record too; the others are hot.
  await freeze(db, cold, { tenant: 'TX', lastDay: '2001-01-31', id: 'seg_1' });
  const late = { tenant: 'TX', store: 'B', day: '2001-01-15', n: 9 };
  records.push(late);
  await ingest(db, cold, [[toRecord(late)]]);
});
beforeEach(() => db.query(sql`delete from tags`));

function toRecord({ tenant, store, day, n }: (typeof records)[number]): object {
  const occurred_at = `${day}T23:5${n}:00Z`;
  return { tenant, store, event_id: `e${n}`, occurred_at, enrichment: { n } };
}

const setTags = (tags: Readonly<Record<string, readonly TestTag[]>>) => putTags(db, tags);

const cursorKey = Buffer.alloc(32);

const tree = async (request: DatasetsRequest): Promise<DatasetRow[]> =>
  (await listDatasets(db, cursorKey, testActor, { ...request, limit: 500 })).data;

/** What counting the records of a row gives. */
function counted(
  { tenant, store = null, month = null }: Partial<DatasetRow>,
  filter: DatasetsRequest,
  tags: Readonly<Record<string, readonly TestTag[]>>,
) {
  const own = records.filter(
    (record) =>
      record.tenant === tenant &&
      record.store === (store ?? filter.store ?? record.store) &&
      record.day.startsWith(month ?? filter.month ?? ''),
  );
  const { covered, ...by_dataset } = countTagged(own, tags[tenant ?? ''] ?? []);
  return { count: own.length, covered, by_dataset, coverage: covered / own.length };
}

const requests: DatasetsRequest[] = (['tenant', 'store', 'month'] as const).flatMap((level) => [
  { level },
  { level, tenant: 'TX' },
  { level, month: '2001-01' },
  { level, store: 'B' },
  { level, tenant: 'CA', store: 'Ünï', month: '2001-03' },
  { level, store: 'A', month: '2001-02' },
]);

const anyTags = arbitraryTags({
  stores: [...stores, 'S07', 'nowhere'],
  days: [...days, '2000-12-31'],
});

test('any tags give at every level, filter and day the coverage that counting gives', async () => {
  const property = fc.asyncProperty(anyTags, anyTags, anyTags, async (CA, TX, ofMany) => {
    const tags = { CA, TX, ...Object.fromEntries(tenants.map((tenant) => [tenant, ofMany])) };
    await setTags(tags);
    for (const request of requests) {
      for (const row of await tree(request)) {
        const { count, covered, by_dataset, coverage } = row;
        const told = { count, covered, by_dataset, coverage };
        expect([request, row.tenant, row.store, row.month, told]).toEqual([
          ...[request, row.tenant, row.store, row.month],
          counted(row, request, tags),
        ]);
        expect(coverage === 1).toBe(covered === count);
      }
    }
    for (const [tenant, own] of Object.entries({ CA, TX })) {
      for (const store of [undefined, ...stores]) {
        expect(await calendar({ tenant, store })).toEqual(countedDays({ tenant, store }, own));
      }
    }
  });
  await fc.assert(property, { numRuns: runs(20) });
});

async function calendar(
  { tenant, store }: { tenant: string; store?: string | undefined },
  more: object = {},
): Promise<Omit<DayRow, 'bytes' | 'tier'>[]> {
  const own = store === undefined ? {} : { store };
  const { data } = await listDays(db, cursorKey, testActor, { tenant, ...own, ...more });
  return data.map(({ bytes: _bytes, tier: _tier, ...row }) => row);
}

function countedDays(
  of: { tenant: string; store?: string | undefined },
  tags: readonly TestTag[],
): object[] {
  return days.flatMap((day) => {
    const own = records.filter(
      (record) =>
        record.tenant === of.tenant &&
        record.store === (of.store ?? record.store) &&
        record.day === day,
    );
    if (own.length === 0) return [];
    const { covered, ...by_dataset } = countTagged(own, tags);
    return [{ day, count: own.length, covered, by_dataset }];
  });
}

test('records that arrive in a tagged window later are covered, others are not', async () => {
  const tag = { store: 'late', from: '2001-05-01', to: '2001-05-31', dataset: 'training' } as const;
  await setTags({ LT: [tag] });
  const record = { tenant: 'LT', store: 'late', n: 0 };
  await ingest(db, cold, [['2001-05-31', '2001-06-01'].map((day) => toRecord({ ...record, day }))]);
  expect(await tree({ tenant: 'LT', level: 'tenant' })).toMatchObject([
    { count: 2, covered: 1, coverage: 0.5, by_dataset: { training: 1, fine_tuning: 0 } },
  ]);
  await freeze(db, cold, { tenant: 'LT', id: 'seg_lt' });
  expect(await tree({ tenant: 'LT' })).toMatchObject([
    { month: '2001-05', coverage: 1, tier: 'cold' },
    { month: '2001-06', coverage: 0, tier: 'cold' },
  ]);
});

test('days tell their tier and bytes, and those of a month or of days only when asked', async () => {
  const all = (await listDays(db, cursorKey, testActor, { tenant: 'TX', store: 'B' })).data;
  const of = (date: string) => all.find(({ day }) => day === date);
  expect(of('2001-01-15')).toMatchObject({ tier: 'mixed' });
  expect(of('2001-01-01')).toMatchObject({ tier: 'cold' });
  expect(of('2001-02-01')).toMatchObject({ tier: 'hot' });
  const leaf = await tree({ tenant: 'TX', store: 'B', month: '2001-01', include: 'days' });
  const january = all.filter(({ day }) => day < '2001-02-01');
  expect(january.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(leaf[0]?.bytes);
  expect(await calendar({ tenant: 'TX', store: 'B' }, { month: '2001-01' })).toHaveLength(
    january.length,
  );
  const some = await calendar({ tenant: 'TX' }, { from: '2001-01-02', to: '2001-01-15' });
  expect(some.map(({ day }) => day)).toEqual(['2001-01-02', '2001-01-15']);
});

test('tenants of one month, and tags of whole months, are read from counters of months alone', async () => {
  const tag = { store: null, from: '2001-02-01', to: '2001-03-31', dataset: 'training' } as const;
  await setTags(Object.fromEntries([...tenants, 'TX'].map((tenant) => [tenant, [tag]])));
  const session = await db.openSession();
  await session.query(sql`begin isolation level repeatable read`);
  const blocks = async () =>
    session.query<{ name: string; blocks: number }>(sql`
      select relname as name, pg_stat_get_xact_blocks_fetched(oid)::int as blocks from pg_class
      where relname in ('leaf_days', 'leaf_months', 'leaf_stores', 'tenant_days') order by relname`);
  const before = await blocks();
  const page = { after: null, limit: 500 };
  for (const [month, covered] of [
    [undefined, 2],
    ['2001-02', 1],
  ] as const) {
    const rows = await queries.listDatasets(session, 'tenant', { month, tenants: null }, page);
    const coverage = await readCoverage(session, rows);
    const ofMany = coverage.filter((_, n) => tenants.includes(rows[n]?.tenant ?? ''));
    expect(ofMany).toEqual(tenants.map(() => ({ covered, training: covered, fine_tuning: 0 })));
  }
  expect(await blocks()).toEqual(before);
  await session.query(sql`rollback`);
  await session.close();
});

test('a connection plans the reading of tags five times, and then never again', async () => {
  await db.withConnection(async (connection) => {
    for (let i = 0; i < 10; i++) await readTagsOf(connection, ['TX']);
    const [plans] = await connection.query<{ custom_plans: number; generic_plans: number }>(
      sql`select custom_plans::int, generic_plans::int from pg_prepared_statements
        where statement like ${'%from tags where tenant%'}`,
    );
    expect(plans?.custom_plans).toBe(5);
    expect(plans?.generic_plans).toBeGreaterThanOrEqual(5);
  });
});
