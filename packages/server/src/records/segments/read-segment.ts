import { type DuckDb, DuckDbError } from '../../platform/duckdb.ts';
import { eventFilterSql } from './event-filter.ts';
import { readPieces } from './pieces.ts';
import type { HotKeys } from './replace-segments.ts';
import type { NewSegment, SegmentDay } from './segment.ts';
import {
  dayOfRow,
  digestSql,
  digestSumOf,
  instantSql,
  readSegments,
  vectorRows,
} from './segment-sql.ts';

const timeoutMillis = 600_000;

/** A segment is unreadable, holds another tenant's records (tenant), or is not in strictly ascending order (order). */
export class SegmentFault extends Error {
  readonly kind: 'unreadable' | 'tenant' | 'order';

  constructor(kind: SegmentFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SegmentFault';
    this.kind = kind;
  }
}

type ReadOptions = {
  readonly tenant: string;
  /** The segment as a local file. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
};

/** A day as DuckDB returns it. */
export type DayOfFile = Record<
  'store' | 'tenant' | 'day' | 'digest' | 'first_at' | 'last_at',
  string
> &
  Record<'first_row' | 'last_row' | 'count' | 'bytes', string>;
export type Misplaced = { store: string; day: string };

/**
 * Reads a whole segment. Returns in the order of the keys where each day of a store stands in it, with its triple
 * computed from the content. Throws SegmentFault, and DuckDbError when DuckDB has no memory or disk to work with.
 */
export async function readSegmentDays(
  duckdb: DuckDb,
  { tenant, path, signal }: ReadOptions,
): Promise<SegmentDay[]> {
  const [rows, [misplaced]] = await Promise.all([
    runOn<DayOfFile>(duckdb, daysSql(path), signal),
    runOn<Misplaced>(duckdb, misplacedSql(path), signal),
  ]);
  for (const row of rows) {
    if (parseText(row.tenant) !== tenant) {
      throw new SegmentFault('tenant', `it holds records of the tenant ${parseText(row.tenant)}`);
    }
    if (isScattered(row)) throw notInOrder(row);
  }
  if (misplaced !== undefined) throw notInOrder(misplaced);
  return rows.map(toSegmentDay);
}

/** Reads a whole segment as `readSegmentDays` does, and tells where its row groups lie and which events it may hold. */
export async function readWhole(
  duckdb: DuckDb,
  options: ReadOptions,
): Promise<Pick<NewSegment, 'days' | 'pieces' | 'eventFilter'>> {
  const days = await readSegmentDays(duckdb, options);
  const count = days.reduce((sum, day) => sum + day.count, 0);
  const read = eventFilterSql(options.path, count);
  const [found] = await runOn<{ filter: string }>(duckdb, read, options.signal);
  if (found === undefined) throw new Error('DuckDB made no filter of event ids');
  const eventFilter = Buffer.from(found.filter, 'base64');
  // So few records have one row group.
  const pieces = count <= vectorRows ? null : await readPieces(duckdb, options);
  return { days, pieces, eventFilter };
}

/** Reads whose a segment is, by its first record. Throws SegmentFault. */
export async function readTenant(
  duckdb: DuckDb,
  { path, signal }: Omit<ReadOptions, 'tenant'>,
): Promise<string> {
  const sql = `select to_json(tenant)::varchar as tenant from ${readSegments([path])} limit 1`;
  const [row] = await runOn<{ tenant: string }>(duckdb, sql, signal);
  if (row === undefined) throw new SegmentFault('unreadable', 'it holds no records');
  return parseText(row.tenant);
}

/** Runs a statement on a segment. Throws SegmentFault when DuckDB cannot read it. */
async function runOn<Row extends Record<string, unknown>>(
  duckdb: DuckDb,
  sql: string,
  signal: AbortSignal | undefined,
): Promise<Row[]> {
  return duckdb.run<Row>(sql, { timeoutMillis, signal }).catch((error: unknown) => {
    if (!(error instanceof DuckDbError) || isForWantOfSpace(error)) throw error;
    throw new SegmentFault('unreadable', `it cannot be read: ${error.message}`, error);
  });
}

/** Returns whether rows of other days stand among those of a day. */
export function isScattered({ first_row, last_row, count }: DayOfFile): boolean {
  return Number(last_row) - Number(first_row) + 1 !== Number(count);
}

export function toSegmentDay(row: DayOfFile): SegmentDay {
  return {
    store: parseText(row.store),
    day: row.day,
    first_row: Number(row.first_row),
    count: Number(row.count),
    bytes: Number(row.bytes),
    digest: row.digest,
    first_at: row.first_at,
    last_at: row.last_at,
  };
}

/** Returns whether DuckDB ran out of memory or disk, which is not a fault of the segment. */
export function isForWantOfSpace(error: DuckDbError): boolean {
  return /out of memory|no space left|interrupted/i.test(error.message);
}

function notInOrder({ store, day }: Misplaced): SegmentFault {
  return new SegmentFault(
    'order',
    `its records of store ${parseText(store)} on ${day} are not in order`,
  );
}

function daysSql(path: string): string {
  return `
    select ${columnsOfDay} from (select ${columnsOfRow} from ${readSegments([path])})
    group by tenant, store, day order by first_row`;
}

/**
 * Finds a record that does not follow the one before it. `over ()` looks at the row before in the order of the file.
 * That needs no sorting and no memory, but it runs in one thread, so the digests are computed by a second query at the
 * same time.
 */
export function misplacedSql(path: string): string {
  return `
    select to_json(store)::varchar as store, ${dayOfRow}::varchar as day
    from (
      select store, occurred_at, event_id, lag(store) over () as store_before,
        lag(occurred_at) over () as occurred_before, lag(event_id) over () as event_before
      from ${readSegments([path])}
    )
    where store_before is not null and
      (store_before, occurred_before, event_before) >= (store, occurred_at, event_id)
    limit 1`;
}

/** What the columns of a day are computed from. */
export const columnsOfRow = `tenant, store, occurred_at, ${dayOfRow} as day, bytes,
  file_row_number as row_number, ${digestSql} as digest`;

/** The columns of DayOfFile. Names are returned as JSON, because that keeps a byte order mark at their start. */
export const columnsOfDay = `to_json(tenant)::varchar as tenant, to_json(store)::varchar as store,
  day::varchar as day, min(row_number) as first_row, max(row_number) as last_row, count(*) as count,
  sum(bytes)::bigint as bytes, ${digestSumOf('digest')} as digest,
  ${instantSql('min(occurred_at)')} as first_at, ${instantSql('max(occurred_at)')} as last_at`;

/** Reads a name that was returned as JSON. */
export function parseText(json: string): string {
  const value: unknown = JSON.parse(json);
  return String(value);
}

const pageRows = 10_000;

type KeysOptions = {
  /** The segment as a local file. */
  readonly path: string;
  readonly first_row: number;
  readonly count: number;
  readonly signal?: AbortSignal | undefined;
};

/** Reads the times and the event ids of rows that stand together in a segment, 10,000 of them at a time. */
export async function* readSegmentKeys(
  duckdb: DuckDb,
  { path, first_row, count, signal }: KeysOptions,
): AsyncGenerator<HotKeys> {
  for (let row = first_row; row < first_row + count; row += pageRows) {
    const last = Math.min(row + pageRows, first_row + count) - 1;
    const rows = await duckdb.run<{ occurred_at: string; event_id: string }>(
      `select ${instantSql('occurred_at')} as occurred_at, to_json(event_id)::varchar as event_id
       from ${readSegments([path])} where file_row_number between ${row} and ${last}`,
      { signal },
    );
    yield {
      occurredAt: rows.map((key) => key.occurred_at),
      eventIds: rows.map((key) => String(JSON.parse(key.event_id))),
    };
  }
}
