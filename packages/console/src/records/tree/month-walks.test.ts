import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import { walkMonths } from './month-walks.ts';

type Stores = ReadonlyMap<string, number>;

/** Walks through stores with so many months each; answers what was kept, how many pages were read and the end. */
async function walk(stores: Stores, wanted: () => string[], pageSize: number) {
  const byName = [...stores].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const all = byName.flatMap(([store, count]) =>
    Array.from({ length: count }, (_, at) => ({ store, month: `20${10 + at}-01` }) as DatasetRow),
  );
  const kept = new Map<string, number>();
  let requests = 0;
  const unread = await walkMonths({
    async read(cursor) {
      requests += 1;
      const end = Number(cursor) + pageSize;
      const next_cursor = end < all.length ? String(end) : null;
      return { data: all.slice(Number(cursor), end), next_cursor };
    },
    wanted,
    keep(store, months) {
      expect(kept.has(store)).toBe(false);
      expect(months).toEqual(all.filter((row) => row.store === store));
      kept.set(store, months.length);
    },
  });
  return { kept, requests, unread };
}

/** Two-digit names in order, with so many months each. */
const manyStores = (count: number, months: number): Map<string, number> =>
  new Map(Array.from({ length: count }, (_, at) => [String(100 + at), months]));

it('keeps exactly the months of the wanted stores, however they lie on pages', async () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 });
  const shape = fc.array(fc.tuple(name, fc.nat(5), fc.boolean()), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(shape, fc.integer({ min: 1, max: 12 }), async (rows, pageSize) => {
      const stores = new Map(rows.map(([store, count]) => [store, count]));
      const wanted = rows.filter(([, , isOpen]) => isOpen).map(([store]) => store);
      const unique = [...new Set(wanted)];
      const { kept, requests, unread } = await walk(stores, () => unique, pageSize);
      const isRead = (store: string) =>
        unread === null || Buffer.compare(Buffer.from(store), Buffer.from(unread)) < 0;
      expect([...kept.keys()].sort()).toEqual(unique.filter(isRead).sort());
      expect(requests).toBeLessThanOrEqual(2 + kept.size / 2 + unique.length / 8);
    }),
  );
});

it('reads to the last wanted store and no further', async () => {
  const { kept, requests, unread } = await walk(manyStores(400, 10), () => wantedFirst(100), 50);
  expect([kept.size, requests, unread]).toEqual([100, 21, null]);
});

const wantedFirst = (count: number) => [...manyStores(count, 0).keys()];

it('gives up where nearly all stores are closed, for an eighth of the requests that it was to save', async () => {
  const last = [...manyStores(800, 0).keys()].slice(-40);
  const { kept, requests, unread } = await walk(manyStores(800, 10), () => last, 50);
  expect([kept.size, requests, unread]).toEqual([0, 6, '129']);
});

it('follows what is opened and closed meanwhile', async () => {
  let asked = 0;
  const wanted = () => {
    asked += 1;
    // At first all are open; after the first page only one further on, and a store that is gone.
    return asked <= 2 ? wantedFirst(100) : ['119', '119½'];
  };
  const { kept, requests, unread } = await walk(manyStores(100, 10), wanted, 100);
  expect([...kept]).toEqual([
    ...wantedFirst(9).map((store) => [store, 10]),
    ['119', 10],
    ['119½', 0],
  ]);
  expect([requests, unread]).toEqual([3, null]);
});
