import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { copyCsv } from '../../platform/postgres/copy.ts';
import { type Connection, cancelling, type Database } from '../../platform/postgres/database.ts';
import {
  allowLongStatements,
  type DayRange,
  listHotDays,
  type StoreRange,
  selectHotRows,
} from './queries.ts';
import type { DayTriple } from './segment.ts';
import { rowGroupBytes, vectorRows } from './segment-sql.ts';

type SpoolOptions = DayRange & {
  /** The file to write. A file that exists is replaced. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Is awaited again and again, to give way to others. */
  readonly rest?: () => Promise<void>;
};

/** Text is always quoted, so that an empty one is not read as NULL. */
const quoted = ['store', 'event_id', 'kind', 'source', 'model', 'confidence', 'enrichment'];

/**
 * Writes the hot records of whole days to a file in key order, as CSV for `writeSegmentFromSpool`. Returns by day what
 * the counters of the same snapshot say. Store by store each COPY runs along the key, and from its first day to its
 * last: to plan 57 years of partitions takes 90 ms, which were eight minutes for 30,000 stores.
 */
export async function spoolHotRows(db: Database, options: SpoolOptions): Promise<DayTriple[]> {
  const { tenant, firstDay, lastDay, signal } = options;
  return db.withConnection((connection) =>
    cancelling(connection, signal, async () => {
      await connection.client.query('begin isolation level repeatable read read only');
      await allowLongStatements(connection);
      const days = await listHotDays(connection, { tenant, firstDay, lastDay });
      await copyStores(connection, days, options);
      await connection.client.query('commit');
      return days;
    }),
  );
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
  const file = createWriteStream(path, { mode: 0o600, highWaterMark: 1024 * 1024 });
  await pipeline(rows, file, { signal });
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

/** A file of rows in the order of their keys, from which one segment is written. `bytes` is the size of the file. */
type SpoolPart = { readonly path: string; readonly count: number; readonly bytes: number };

/**
 * Cuts a file of `spoolHotRows` where records are so large that DuckDB's smallest row group would not fit into its
 * memory: such get files of one row group. Usually the file itself is the only part.
 */
export async function splitSpool(
  path: string,
  options: Pick<SpoolOptions, 'signal' | 'rest'> = {},
): Promise<SpoolPart[]> {
  const { signal, rest } = options;
  const splitter = createSplitter({ rows: vectorRows, bytes: rowGroupBytes });
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, signal })) {
    splitter.add(chunk as Buffer);
    await rest?.();
  }
  const cuts = splitter.end();
  const [only] = cuts;
  if (only !== undefined && cuts.length === 1) return [{ path, ...only }];
  const parts: SpoolPart[] = [];
  let start = 0;
  for (const [index, cut] of cuts.entries()) {
    const part = `${path}.${index}`;
    await pipeline(
      createReadStream(path, { start, end: start + cut.bytes - 1 }),
      createWriteStream(part, { mode: 0o600 }),
      { signal },
    );
    parts.push({ path: part, ...cut });
    start += cut.bytes;
  }
  await rm(path);
  return parts;
}

type Cut = { count: number; bytes: number };

const lineFeed = 0x0a;

/** Finds where to cut lines. No block of `rows` lines in a part has more than `bytes`, or the part has fewer lines. */
export function createSplitter(block: { rows: number; bytes: number }) {
  const cuts: Cut[] = [];
  /** The complete blocks of the part that is being gathered. */
  let whole: Cut = { count: 0, bytes: 0 };
  /** The block that is being gathered. */
  let open: Cut = { count: 0, bytes: 0 };
  let lineBytes = 0;

  function cut(part: Cut): void {
    if (part.count > 0) cuts.push(part);
  }
  function addLine(bytes: number): void {
    if (open.count > 0 && open.bytes + bytes > block.bytes) {
      cut(whole);
      cut(open);
      [whole, open] = [
        { count: 0, bytes: 0 },
        { count: 0, bytes: 0 },
      ];
    }
    open = { count: open.count + 1, bytes: open.bytes + bytes };
    if (open.count < block.rows) return;
    whole = { count: whole.count + open.count, bytes: whole.bytes + open.bytes };
    open = { count: 0, bytes: 0 };
  }
  return {
    add(chunk: Uint8Array): void {
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(lineFeed, from);
        if (end === -1) break;
        addLine(lineBytes + end + 1 - from);
        lineBytes = 0;
        from = end + 1;
      }
      lineBytes += chunk.length - from;
    },
    end(): Cut[] {
      cut({ count: whole.count + open.count, bytes: whole.bytes + open.bytes });
      return cuts;
    },
  };
}
