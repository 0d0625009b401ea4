import { beforeAll, describe, expect, test } from 'vitest';
import { ingestBatch, ingestStream } from './lib/ingest.ts';
import { useInstallation, useService } from './lib/installation.ts';
import { makeRecord, type NewRecord } from './lib/records.ts';
import { type Filters, getPage, idsOf, type Page, walkPages } from './lib/walk.ts';

const installation = useInstallation();
const service = useService(installation, { SVC_RATE_LIMIT: '0' });

/** What the scan behind one filtered page looks at, at most. */
const scanLimit = 10_000;

const cases = [
  { order: 'asc', limit: '7', isOneStore: false },
  { order: 'asc', limit: '500', isOneStore: true },
  { order: 'desc', limit: '7', isOneStore: true },
  { order: 'desc', limit: '500', isOneStore: false },
] as const;

test.each(cases)(
  'a walk sees what was there once while others write: $order, pages of $limit, one store $isOneStore',
  async ({ order, limit, isOneStore }) => {
    const tenant = `walk-${order}-${limit}-${isOneStore}`;
    const records = Array.from({ length: limit === '7' ? 105 : 1500 }, (_, n) =>
      makeRecord(`start-${n}`, n, { tenant }),
    );
    await ingestBatch(service, records);
    const filters: Filters = { tenant, order, limit, ...(isOneStore ? { store: 'DFW' } : {}) };
    const there = idsInOrder(records, filters);
    const write = writeAllOver(tenant);
    await write();

    const first = await getPage(service, filters);
    const forth = await walkPages(service, filters, first, { onPage: write });
    expect(startOnly(idsOf(forth))).toEqual(there);
    const last = forth.at(-1);
    if (last === undefined) throw new Error('no page');
    const back = await walkPages(service, filters, last, { direction: 'prev', onPage: write });
    expect(startOnly(idsOf(back, 'prev'))).toEqual(there);
    for (const pages of [forth, back]) expect(new Set(idsOf(pages)).size).toBe(idsOf(pages).length);
  },
);

test('a page that is exactly full at the end of the slice has no NEXT', async () => {
  const tenant = 'full';
  await ingestBatch(
    service,
    Array.from({ length: 14 }, (_, n) => makeRecord(`start-${n}`, n, { tenant })),
  );
  const pages = await walkPages(
    service,
    { tenant, limit: '7' },
    await getPage(service, { tenant, limit: '7' }),
  );
  expect(pages.map((page) => page.ids.length)).toEqual([7, 7]);
});

describe('a walk with a filter', () => {
  const tenant = 'rare';
  // The first, the last, on both sides of where a scan may end, and some with nothing around them.
  const matches = [
    ...[0, 4, scanLimit - 1, scanLimit, scanLimit + 1, 2 * scanLimit - 1, 3 * scanLimit, 34_999],
  ];
  beforeAll(() => ingestRare(tenant, 35_000, matches));
  const there = matches.map(rareId);
  const cases = [
    { order: 'asc', limit: '1', there },
    { order: 'desc', limit: '500', there: there.toReversed() },
  ] as const;

  test.each(cases)(
    'visits rare matches once, over pages that are short or empty: $order, pages of $limit',
    async ({ order, limit, there }) => {
      for (const label of [{ kind: 'rare' }, { source: 'rare' }] as Filters[]) {
        const filters = { tenant, order, limit, ...label };
        const forth = await walkPages(service, filters, await getPage(service, filters));
        expect(idsOf(forth)).toEqual(there);
        expect(forth.length, 'pages: the scan behind each is bounded').toBeGreaterThan(3);
        const back = await walkPages(service, filters, lastOf(forth), { direction: 'prev' });
        expect(idsOf(back, 'prev')).toEqual(there);
      }
    },
  );

  test.each(cases)(
    'loses no match where it turns round, at any page: $order, pages of $limit',
    async ({ order, limit, there }) => {
      const filters = { tenant, order, limit, kind: 'rare' };
      const forth = await walkPages(service, filters, await getPage(service, filters));
      for (const [n, turn] of forth.entries()) {
        if (turn.prev === null) continue;
        const seenCount = idsOf(forth.slice(0, n)).length;
        const back = await getPage(service, filters, turn.prev);
        const again = await walkPages(service, filters, back);
        const place = `PREV at page ${n} with ${turn.ids.length} rows`;
        expect(idsOf(again), place).toEqual(there.slice(seenCount - back.ids.length));
      }
    },
  );
});

test('a filtered walk sees what was there once while others write before where it reads', async () => {
  const tenant = 'busy';
  const count = 15_000;
  const matches = Array.from({ length: 600 }, (_, n) => n * 25);
  await ingestRare(tenant, count, matches);
  const there = matches.map(rareId);
  let isRunning = true;
  const writers = [0, 1].map(async (writer) => {
    for (let n = 0; isRunning; n += 1) {
      await ingestBatch(
        service,
        Array.from({ length: 200 }, (_, i) =>
          makeRecord(`new-${writer}-${n}-${i}`, 0, {
            tenant,
            store: 'S',
            occurred_at: instantOf((n * 200 + i) % count),
          }),
        ),
      );
    }
  });
  try {
    const filters = { tenant, kind: 'rare', limit: '500' };
    for (let round = 0; round < 3; round += 1) {
      const pages = await walkPages(service, filters, await getPage(service, filters));
      expect(idsOf(pages)).toEqual(there);
    }
  } finally {
    isRunning = false;
    await Promise.all(writers);
  }
});

/** Records before, between and after those that are there: new instants and new ids at old instants. */
function writeAllOver(tenant: string): () => Promise<void> {
  let n = 0;
  return async () => {
    n += 1;
    const everywhere = ['2000-12-31T23:59:59Z', '2001-02-10T12:00:00.25Z', '2001-06-01T00:00:00Z'];
    const places = [
      ...everywhere.map((occurred_at) => ({ store: 'DFW', occurred_at })),
      { store: 'AAA', occurred_at: '2001-02-01T00:00:00Z' },
      { store: 'ZZZ', occurred_at: '2001-02-01T00:00:00Z' },
    ];
    await ingestBatch(
      service,
      places.map((place, i) => makeRecord(`new-${n}-${i}`, n, { tenant, ...place })),
    );
  };
}

function startOnly(ids: readonly string[]): string[] {
  return ids.filter((id) => id.startsWith('start-'));
}

/** The order of reading: store, occurred_at, event_id by their bytes. */
function idsInOrder(records: readonly NewRecord[], filters: Filters): string[] {
  const found = records
    .filter((record) => filters.store === undefined || record.store === filters.store)
    .map((record) => ({ key: `${record.store} ${record.occurred_at} ${record.event_id}`, record }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ record }) => record.event_id);
  return filters.order === 'desc' ? found.reverse() : found;
}

/** One store's records in key order, those at `matches` with kind and source `rare`. */
async function ingestRare(tenant: string, count: number, matches: readonly number[]) {
  const isRare = new Set(matches);
  const records = Array.from({ length: count }, (_, n) => ({
    tenant,
    store: 'S',
    event_id: rareId(n),
    occurred_at: instantOf(n),
    ...(isRare.has(n) ? { kind: 'rare', source: 'rare' } : { kind: 'common' }),
    enrichment: {},
  }));
  expect(await ingestStream(service, records)).toMatchObject({ accepted: count });
}

function rareId(n: number): string {
  return `start-${String(n).padStart(6, '0')}`;
}

function instantOf(n: number): string {
  return new Date(Date.UTC(2001, 0, 1) + n * 300_000).toISOString();
}

function lastOf(pages: readonly Page[]): Page {
  const last = pages.at(-1);
  if (last === undefined) throw new Error('no page');
  return last;
}
