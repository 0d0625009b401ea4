import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import type { PageRequest } from './pages.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, type page, pagesOf, type TestTier } from './testing/walk.ts';
import { usualLimits } from './tier.ts';

const db = useTestDatabase();
const cold = useColdStore();

/** The event happened in each store, and twice in one of them; others surround it. */
const linesOf = (tenant: string) =>
  ['A', 'B', 'C'].flatMap((store) =>
    Array.from({ length: 12 }, (_, n) => {
      const isIt = n === 4 || (store === 'B' && n === 9);
      return ['a', isIt ? 'wanted' : 'm', 'z'].map((id) =>
        JSON.stringify({
          tenant,
          store,
          event_id: id,
          kind: n === 9 ? 'second' : 'first',
          occurred_at: `2001-01-${String(n + 1).padStart(2, '0')}T00:00:00Z`,
          enrichment: {},
        }),
      );
    }).flat(),
  );
const one = { filtered: 1, bytes: 1, filters: 1 };
const keysOf = ({ data }: Awaited<ReturnType<typeof page>>) =>
  data.map((row) => `${row.store} ${row.occurred_at.slice(8, 10)}`);
const found = ['A 05', 'B 05', 'B 10', 'C 05'];

test('an event is found wherever it lies, by scans of so many records, or of so many days', async () => {
  const tenant = 'event';
  await ingest(db, cold, [linesOf(tenant)]);
  const byRecords = bothTiers(db, cold, { ...one, ofEvent: 12, days: 1000 });
  const byDays = bothTiers(db, cold, { ...one, ofEvent: 1000, days: 4 });
  const search = async (tiers: TestTier, more: Partial<PageRequest> = {}) => {
    const pages = await pagesOf(tiers, { tenant, event_id: 'wanted', limit: 3, ...more });
    return { keys: pages.flatMap(keysOf), pages: pages.length };
  };
  const countPages = async (tiers: TestTier) => {
    const all = await search(tiers);
    expect(all.keys).toEqual(found);
    expect((await search(tiers, { order: 'desc' })).keys).toEqual(found.toReversed());
    expect((await search(tiers, { kind: 'second' })).keys).toEqual(['B 10']);
    expect((await search(tiers, { where: 'kind != "first"' })).keys).toEqual(['B 10']);
    expect((await search(tiers, { store: 'B' })).keys).toEqual(['B 05', 'B 10']);
    const late = { from: '2001-01-06', to: '2001-01-31' };
    expect((await search(tiers, late)).keys).toEqual(['B 10']);
    return all.pages;
  };
  const check = async () => [await countPages(byRecords), await countPages(byDays)];
  expect(await check()).toEqual([2, 2]);
  for (let day = 1; day <= 9; day += 1) {
    for (const filter of ["store = 'A'", 'true']) {
      const id = `seg_${day}_${filter.length}`;
      await freeze(db, cold, { tenant, id, lastDay: `2001-01-0${day}`, filter });
    }
  }
  expect(await check()).toEqual([2, 2]);
  await freeze(db, cold, { tenant, id: 'seg_last' });
  // Four of the nineteen segments may hold it. Those of earlier releases have no filters, and are too many at once.
  expect(await check()).toEqual([2, 2]);
  await db.query(sql`update segments set event_filter = null where tenant = ${tenant}`);
  for (const pages of await check()) expect(pages).toBeGreaterThan(5);
});

test.each([
  ['records', { filtered: 7, bytes: 1_000_000 }],
  ['bytes', { filtered: 10_000, bytes: 700 }],
])('pages with a where look at so many %s, say how far, and miss nothing', async (name, limits) => {
  const tenant = `where ${name}`;
  await ingest(db, cold, [linesOf(tenant)]);
  const tiers = bothTiers(db, cold, { ...usualLimits, ...limits });
  const search = async (more: Partial<PageRequest>) => {
    const request = { tenant, where: 'event_id = "wanted"', limit: 500, ...more };
    const pages = await pagesOf(tiers, request);
    const looks = pages.map(({ text }): unknown => JSON.parse(text).searched_to);
    return { request, pages, keys: pages.flatMap(keysOf), looks };
  };
  const check = async () => {
    const { request, pages, keys, looks } = await search({});
    expect(keys).toEqual(found);
    // Where the walk turns round, nothing is missed on the way back, nor on the way on from there.
    const turn = pages.length >> 1;
    const cursor = pages[turn]?.prev ?? 'none';
    const back = await pagesOf(tiers, { ...request, cursor }, { way: 'prev' });
    const seen = pages.slice(0, turn).flatMap(keysOf);
    expect(back.toReversed().flatMap(keysOf)).toEqual(seen);
    const on = await pagesOf(tiers, { ...request, cursor });
    expect(on.flatMap(keysOf)).toEqual(found.slice(seen.length - (back[0]?.data.length ?? 0)));
    expect((await search({ order: 'desc' })).keys).toEqual(found.toReversed());
    expect((await search({ store: 'B', kind: 'second' })).keys).toEqual(['B 10']);
    // There are 108 records of about 110 bytes, of which a page looks at seven.
    expect(looks.length).toBeGreaterThan(10);
    expect(looks.length).toBeLessThan(40);
    expect(looks.slice(0, -1)).not.toContain(null);
    const occurred_at = expect.stringMatching(/^2001-01-0[2-4]T00:00:00.000000Z$/);
    expect(looks[0]).toEqual({ tenant, store: 'A', occurred_at });
    expect(looks.at(-1)).toBeNull();
  };
  await check();
  await freeze(db, cold, { tenant, id: `seg_half_${name}`, filter: "event_id <> 'a'" });
  await check();
  await freeze(db, cold, { tenant, id: `seg_rest_${name}` });
  await check();
});

test('a page that few of many records fit is as full as if all were looked at together', async () => {
  const tenant = 'few';
  const lines = Array.from({ length: 1300 }, (_, n) => {
    const occurred_at = new Date(Date.UTC(2001, 0, 1) + n * 600_000).toISOString();
    const isIt = n === 3 || n === 700 || n === 1250;
    return JSON.stringify({
      ...{ tenant, store: 'A', event_id: `e${n}`, occurred_at },
      ...{ kind: isIt ? 'wanted' : 'other', enrichment: { n: isIt ? 1 : 0 } },
    });
  });
  await ingest(db, cold, [lines]);
  const tiers = bothTiers(db, cold, usualLimits);
  const check = async () => {
    for (const filter of [{ where: 'n = 1' }, { kind: 'wanted' }]) {
      for (const order of ['asc', 'desc', 'oldest', 'newest'] as const) {
        const place = order.endsWith('sc') ? { store: 'A' } : {};
        const pages = await pagesOf(tiers, { tenant, ...place, ...filter, order, limit: 100 });
        const ids = pages.map(({ data }) => data.map(({ event_id: id }) => id));
        const all = ['e3', 'e700', 'e1250'];
        expect(ids).toEqual([/^(desc|newest)$/.test(order) ? all.toReversed() : all]);
      }
    }
  };
  await check();
  await freeze(db, cold, { tenant, id: 'seg_few_half', lastDay: '2001-01-05' });
  await check();
  await freeze(db, cold, { tenant, id: 'seg_few_rest' });
  await check();
});
