import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { copyCsv } from '../../platform/postgres/copy.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import {
  allowLongStatements,
  type DayRange,
  listHotDays,
  type StoreRange,
  selectHotRows,
} from './queries.ts';
import type { DayTriple } from './segment.ts';

export type SpoolOptions = DayRange & {
  /** The file to write. A file that exists is replaced. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Is awaited again and again, to give way to others. */
  readonly rest?: () => Promise<void>;
};

/** Text is always quoted, so that an empty one is not read as NULL. */
const quoted = ['store', 'event_id', 'kind', 'source', 'model', 'confidence', 'enrichment'];

/**
 * Writes the hot records of a tenant's whole days to a file, in the order of their keys, as the CSV that
 * `writeSegmentFromSpool` reads. Returns by store and day what the counters of the same snapshot say the file should
 * hold. The stores are copied one after another: each COPY then runs along the index of the key, and none has to sort.
 * Each reads from the store's first day to its last: over the partitions of 57 years a COPY of nothing takes 90 ms, which
 * is planning, and over one partition less than one. A move of 30,000 stores took eight minutes.
 */
export async function spoolHotRows(db: Database, options: SpoolOptions): Promise<DayTriple[]> {
  const { tenant, firstDay, lastDay, signal } = options;
  return db.withConnection(async (connection) => {
    signal?.throwIfAborted();
    await connection.client.query('begin isolation level repeatable read read only');
    await allowLongStatements(connection);
    const days = await listHotDays(connection, { tenant, firstDay, lastDay });
    const cancel = () => void connection.cancel().catch(() => {});
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      await copyStores(connection, days, options);
      await connection.client.query('commit');
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
    signal?.throwIfAborted();
    return days;
  });
}

async function copyStores(
  connection: Connection,
  days: readonly DayTriple[],
  options: SpoolOptions,
): Promise<void> {
  const { tenant, path, signal, rest } = options;
  const rows = async function* () {
    for (const range of rangesOf(tenant, days)) {
      signal?.throwIfAborted();
      const query = selectHotRows(range);
      for await (const chunk of copyCsv(connection, query, { header: false, quoted })) {
        yield chunk;
        await rest?.();
      }
    }
  };
  await pipeline(rows, createWriteStream(path, { mode: 0o600, highWaterMark: 1024 * 1024 }), {
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The stores of these days, which are in the order of stores and days, each from its first day to its last. */
function rangesOf(tenant: string, days: readonly DayTriple[]): Iterable<StoreRange> {
  const ranges = new Map<string, StoreRange>();
  for (const { store, day } of days) {
    const firstDay = ranges.get(store)?.firstDay ?? day;
    ranges.set(store, { tenant, store, firstDay, lastDay: day });
  }
  return ranges.values();
}
