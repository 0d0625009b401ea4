import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { useTestDatabase } from '../../test/database.ts';
import type { DatasetRow } from './contract.ts';
import { type DatasetsRequest, listDatasets, listMonthSums } from './datasets.ts';
import { useColdStore } from './read/testing/cold-store.ts';
import { freeze } from './read/testing/freeze.ts';
import { ingest } from './read/testing/walk.ts';

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  const records = ['A', 'B'].flatMap((store) =>
    ['2001-01-01', '2001-01-02', '2001-02-01', '2001-03-01'].map((day) => ({
      tenant: 'TX',
      store,
      event_id: 'e',
      occurred_at: `${day}T00:00:00Z`,
      enrichment: { text: 'x'.repeat(1000) },
    })),
  );
  await ingest(db, cold, [records]);
});

async function list(request: DatasetsRequest): Promise<DatasetRow[]> {
  return (await listDatasets(db, Buffer.alloc(32), testActor, request)).data;
}

/** What a move leaves as it was. */
function facts(rows: DatasetRow[]): object[] {
  return rows.map(({ tier: _tier, stored_bytes: _stored, ...rest }) => rest);
}

const levels: DatasetsRequest[] = [
  { level: 'month', include: 'days' },
  { level: 'store', include: 'months' },
  { level: 'tenant' },
  { level: 'tenant', month: '2001-01' },
  { level: 'tenant', store: 'A' },
];

async function tiersOf(request: DatasetsRequest): Promise<string[]> {
  return (await list(request)).map(({ tier }) => tier);
}

test('the tree tells where its records lie and what they take, and else nothing changes', async () => {
  const hot = await Promise.all(levels.map(list));
  for (const row of hot.flat()) expect(row).toMatchObject({ tier: 'hot', stored_bytes: row.bytes });

  await freeze(db, cold, { tenant: 'TX', lastDay: '2001-01-01', id: 'seg_1' });
  const february = { firstDay: '2001-02-01', lastDay: '2001-02-28' };
  await freeze(db, cold, { tenant: 'TX', ...february, id: 'seg_2' });
  expect(await tiersOf({ level: 'month', store: 'A' })).toEqual(['mixed', 'cold', 'hot']);
  expect(await tiersOf({ level: 'store' })).toEqual(['mixed', 'mixed']);
  expect(await tiersOf({ level: 'tenant' })).toEqual(['mixed']);
  expect(await tiersOf({ level: 'tenant', month: '2001-02' })).toEqual(['cold']);
  expect(await tiersOf({ level: 'tenant', month: '2001-03' })).toEqual(['hot']);
  const { data: sums } = await listMonthSums(db, testActor, {});
  expect(sums.map(({ hot_count, cold_count }) => [hot_count, cold_count])).toEqual([
    [2, 2],
    [0, 2],
    [2, 0],
  ]);
  const mixed = await Promise.all(levels.map(list));
  expect(mixed.map(facts)).toEqual(hot.map(facts));

  await freeze(db, cold, { tenant: 'TX', id: 'seg_3' });
  const all = await Promise.all(levels.map(list));
  expect(all.map(facts)).toEqual(hot.map(facts));
  expect(new Set(all.flat().map(({ tier }) => tier))).toEqual(new Set(['cold']));
});

test('the stored bytes of all leaves together are the sizes of the objects', async () => {
  const { rows } = await db.pool.query('select sum(size_bytes)::int as bytes from segments');
  for (const level of ['month', 'store', 'tenant'] as const) {
    const stored = (await list({ level })).map((row) => row.stored_bytes);
    expect(stored.reduce((sum, bytes) => sum + bytes)).toBe(rows[0].bytes);
  }
});

test('sums each month', async () => {
  const months = await list({ level: 'tenant', tenant: 'TX' });
  const { data } = await listMonthSums(db, testActor, {});
  expect(data.map(({ month }) => month)).toEqual(['2001-01', '2001-02', '2001-03']);
  const sum = (pick: (row: (typeof data)[number]) => number) =>
    data.reduce((total, row) => total + pick(row), 0);
  expect(sum((row) => row.hot_count + row.cold_count)).toBe(months[0]?.count);
  expect(sum((row) => row.hot_bytes + row.cold_bytes)).toBe(months[0]?.bytes);
  expect(await listMonthSums(db, testActor, { tenant: 'TX' })).toEqual({ data });
});
