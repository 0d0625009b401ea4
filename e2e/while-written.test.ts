import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { readCsv } from '../packages/server/test/csv.ts';
import { openExport } from './lib/api.ts';
import { ingestBatch } from './lib/ingest.ts';
import { useInstallation, useService } from './lib/installation.ts';
import { makeLeaf, makeRecord, type NewRecord } from './lib/records.ts';
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

const leaf = { tenant: 'TX', store: 'DFW', month: '2001-03' };
const exportCount = 25;

beforeAll(async () => {
  await ingestBatch(service, makeLeaf({ tenant: leaf.tenant, store: leaf.store }, 5000));
});

/** A batch is one transaction: a committed state has all of it or nothing. */
type Batch = { size: number; isAcknowledged: boolean };

test('an export of a leaf that is being written to is one committed state, counted beforehand', async () => {
  const batches = new Map<string, Batch>();
  let isRunning = true;
  const writers = ['a', 'b', 'c'].map(async (writer) => {
    for (let n = 0; isRunning; n += 1) {
      const name = `${writer}${n}`;
      const batch = { size: (n % 37) + 1, isAcknowledged: false };
      batches.set(name, batch);
      await ingestBatch(service, makeBatch(name, batch.size));
      batch.isAcknowledged = true;
    }
  });
  try {
    const counts = new Set<number>();
    for (let n = 0; n < exportCount; n += 1) {
      const before = [...batches.keys()].filter((name) => batches.get(name)?.isAcknowledged);
      const download = await openExport(service, {
        ...leaf,
        columns: ['event_id', 'kind', 'enrichment'],
      });
      const begun = new Set(batches.keys());
      const body = await download.readAll();
      expect(download.response.trailers['repr-digest']).toBe(digestOf(body));
      const seen = countByBatch(body);
      expect(seen.total).toBe(download.rowCount);
      for (const [name, rows] of seen.batches) {
        expect(rows, `rows of batch ${name}`).toBe(batches.get(name)?.size);
        expect(begun.has(name), `batch ${name}, sent after the answer had begun`).toBe(true);
      }
      expect(before.filter((name) => !seen.batches.has(name))).toEqual([]);
      counts.add(seen.total);
    }
    expect(counts.size).toBeGreaterThan(5);
  } finally {
    isRunning = false;
    await Promise.all(writers);
  }
});

/** Rows by the batch that their kind names; those of the leaf as it was at first only in the total. */
function countByBatch(body: Buffer): { total: number; batches: Map<string, number> } {
  const [, ...rows] = readCsv(body.toString());
  const found = new Map<string, number>();
  for (const row of rows) {
    const kind = row[1] ?? '';
    if (kind.startsWith('batch ')) found.set(kind.slice(6), (found.get(kind.slice(6)) ?? 0) + 1);
  }
  return { total: rows.length, batches: found };
}

/** Records all over the month, with line breaks in them: rows are not lines. */
function makeBatch(name: string, size: number): NewRecord[] {
  return Array.from({ length: size }, (_, n) =>
    makeRecord(`${name}-${n}`, n, {
      store: leaf.store,
      occurred_at: `${leaf.month}-${String((n % 31) + 1).padStart(2, '0')}T00:00:00Z`,
      kind: `batch ${name}`,
      source: 'two\nlines',
    }),
  );
}

function digestOf(body: Buffer): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}
