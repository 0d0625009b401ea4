import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page } from './testing/walk.ts';

const db = useTestDatabase();
const cold = useColdStore();

/** The event happened in each store, and twice in one of them; others surround it. */
const linesOf = (tenant: string) =>
  ['A', 'B', 'C'].flatMap((store) =>
    Array.from({ length: 12 }, (_, n) => {
      const isIt = n === 4 || (store === 'B' && n === 9);
      return ['a', isIt ? 'wanted' : 'm', 'z'].map((id) =>
        JSON.stringify({
          ...{ tenant, store, event_id: id, kind: n === 9 ? 'second' : 'first' },
          occurred_at: `2001-01-${String(n + 1).padStart(2, '0')}T00:00:00Z`,
          enrichment: {},
        }),
      );
    }).flat(),
  );
const found = ['A 05', 'B 05', 'B 10', 'C 05'];

test.each([
  ['records', { filtered: 1, ofEvent: 12, days: 1000 }],
  ['days', { filtered: 1, ofEvent: 1000, days: 4 }],
])('an event is found wherever it lies, by scans of so many %s', async (tenant, limits) => {
  await ingest(db, cold, [linesOf(tenant)]);
  const tiers = bothTiers(db, cold, limits);
  const search = async (more: { order?: 'desc'; kind?: string }) => {
    const keys: string[] = [];
    let pages = 0;
    let cursor: string | null = null;
    do {
      const shown: Awaited<ReturnType<typeof page>> = await page(tiers, {
        ...{ tenant, event_id: 'wanted', limit: 3, ...more },
        ...(cursor !== null && { cursor }),
      });
      keys.push(...shown.data.map((row) => `${row.store} ${row.occurred_at.slice(8, 10)}`));
      pages += 1;
      cursor = shown.next;
    } while (cursor !== null);
    // There are 108 records on 36 days: no scan may look at more than it is allowed.
    expect(pages).toBeGreaterThan(5);
    return keys;
  };
  const check = async () => {
    expect(await search({})).toEqual(found);
    expect(await search({ order: 'desc' })).toEqual(found.toReversed());
    expect(await search({ kind: 'second' })).toEqual(['B 10']);
  };
  await check();
  await freeze(db, cold, { tenant, id: `seg_1_${tenant}`, lastDay: '2001-01-04' });
  await check();
  await freeze(db, cold, { tenant, id: `seg_2_${tenant}` });
  await check();
});
