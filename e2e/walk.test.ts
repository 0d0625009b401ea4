import { expect, test } from 'vitest';
import { ingestBatch } from './lib/ingest.ts';
import { useInstallation, useService } from './lib/installation.ts';
import { makeRecord, type NewRecord } from './lib/records.ts';
import { type Filters, getPage, idsOf, walkPages } from './lib/walk.ts';

const installation = useInstallation('once', 'database');
const service = useService(installation, { SVC_RATE_LIMIT: '0' });

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
