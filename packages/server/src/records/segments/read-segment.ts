import { type DuckDb, DuckDbError } from '../../platform/duckdb.ts';
import type { Rest } from '../../platform/work/pace.ts';
import { eventFilterSql } from './event-filter.ts';
import { readPieces } from './pieces.ts';
import type { HotKeys } from './replace-segments.ts';
import type { NewSegment, SegmentDay } from './segment.ts';
import {
  dayOfRow,
  digestSql,
  digestSumOf,
  instantSql,
  listOf,
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
type DayOfFile = Record<'store' | 'tenant' | 'day' | 'digest' | 'first_at' | 'last_at', string> &
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

/** A segment as a local file, and the tenant whose records it must hold. */
type SegmentFile = Pick<ReadOptions, 'tenant' | 'path'>;

type DayOfFiles = DayOfFile & { filename: string; is_misplaced: boolean; is_uniform: boolean };

/**
 * Reads whole segments as `readSegmentDays` does, and returns by path their days or what is wrong. Of several, one
 * statement reads all that are right: a tenth of the time for segments of 50 records.
 */
export async function readDaysOfFiles(
  duckdb: DuckDb,
  files: readonly SegmentFile[],
  { signal, rest }: { signal: AbortSignal; rest: Rest },
): Promise<Map<string, SegmentDay[] | SegmentFault>> {
  const held = new Map<string, SegmentDay[] | SegmentFault>(
    files.length > 1 ? await readTogether(duckdb, files, signal) : [],
  );
  for (const file of files) {
    if (held.has(file.path)) continue;
    const days = readSegmentDays(duckdb, { ...file, signal }).catch((error: unknown) => {
      if (error instanceof SegmentFault) return error;
      throw error;
    });
    held.set(file.path, await days);
    await rest(signal);
  }
  return held;
}

/** What is no proper segment is left out, for `readSegmentDays` to tell why, or all are if the statement fails. */
async function readTogether(
  duckdb: DuckDb,
  files: readonly SegmentFile[],
  signal: AbortSignal,
): Promise<Map<string, SegmentDay[]>> {
  const held = new Map<string, SegmentDay[]>();
  const sql = daysOfFilesSql(files.map(({ path }) => path));
  const rows = await duckdb
    .run<DayOfFiles>(sql, { timeoutMillis, signal })
    .catch((error: unknown) => {
      if (error instanceof DuckDbError) return [];
      throw error;
    });
  const tenants = new Map(files.map(({ tenant, path }) => [path, tenant]));
  const faulty = new Set<string>();
  for (const row of rows) {
    const { filename: path } = row;
    const isRight =
      row.is_uniform &&
      !row.is_misplaced &&
      !isScattered(row) &&
      parseText(row.tenant) === tenants.get(path);
    if (!isRight) faulty.add(path);
    const days = held.get(path) ?? [];
    days.push(toSegmentDay(row));
    held.set(path, days);
  }
  for (const path of faulty) held.delete(path);
  return held;
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
function isScattered({ first_row, last_row, count }: DayOfFile): boolean {
  return Number(last_row) - Number(first_row) + 1 !== Number(count);
}

function toSegmentDay(row: DayOfFile): SegmentDay {
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

/** Whether a row does not follow the one before: `over ()` takes rows as they are read, without sorting. */
function daysOfFilesSql(paths: readonly string[]): string {
  return `
    select filename, ${columnsOfDay}, coalesce(bool_or(is_misplaced), false) as is_misplaced,
      (${uniformSql(paths)}) as is_uniform
    from (
      select ${columnsOfRow}, filename, lag(filename) over () = filename
        and (lag(store) over (), lag(occurred_at) over (), lag(event_id) over ())
          >= (store, occurred_at, event_id) as is_misplaced
      from ${readSegments(paths)}
    )
    group by filename, tenant, store, day order by first_row`;
}

/** Whether all files have the same columns: otherwise DuckDB would turn values of one into the types of another. */
function uniformSql(paths: readonly string[]): string {
  return `
    select count(*) = ${paths.length} * count(distinct (name, type, converted_type, logical_type))
    from parquet_schema(${listOf(paths)})`;
}

/** What the columns of a day are computed from. */
const columnsOfRow = `tenant, store, occurred_at, ${dayOfRow} as day, bytes,
  file_row_number as row_number, ${digestSql} as digest`;

/** The columns of DayOfFile. Names are returned as JSON, because that keeps a byte order mark at their start. */
const columnsOfDay = `to_json(tenant)::varchar as tenant, to_json(store)::varchar as store,
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
