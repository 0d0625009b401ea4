import { type DuckDb, literal } from '../../platform/duckdb.ts';
import { isObjectFault, type ObjectReader } from '../../platform/objects/objects.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import {
  type DayTriple,
  digestSumSql,
  readSegments,
  segmentDamaged,
} from '../../records/segments.ts';
import * as queries from './erase-queries.ts';
import type { EraseScope } from './scope.ts';

type MatchTools = {
  readonly db: Database;
  readonly objects: ObjectReader;
  readonly duckdb: DuckDb;
};

/** What of a tenant is to be erased, and where it lies. Triples by store and day, in key order. */
export type Matches = {
  readonly hot: readonly DayTriple[];
  /** Segments that hold matches. */
  readonly cold: readonly { segment: queries.SegmentRow; days: readonly DayTriple[] }[];
  /** Those of the scope's event ids that some match has. */
  readonly foundIds: ReadonlySet<string>;
};

/**
 * Hot records and the catalogue are of one snapshot, so that a move in between counts nothing twice.
 * Throws 500 `segment_damaged`, 503 `cold_tier_unavailable`.
 */
export async function findMatches(
  tools: MatchTools,
  scope: EraseScope,
  signal: AbortSignal,
): Promise<Matches> {
  if (scope.eventIds === null) return findWholeDays(tools.db, scope);
  const foundIds = new Set<string>();
  const { hot, segments } = await tools.db.transaction(
    async (connection) => ({
      segments: await queries.listSegmentsOf(connection, scope),
      hot: await findHot(connection, scope, { foundIds, signal }),
    }),
    { isolation: 'repeatable read' },
  );
  const cold: { segment: queries.SegmentRow; days: readonly DayTriple[] }[] = [];
  for (const segment of segments) {
    const days = await readMatches(tools, { segment, scope, foundIds, signal });
    if (days.length > 0) cold.push({ segment, days });
  }
  return { hot, cold, foundIds };
}

/** Without event ids whole days of stores match: counters and catalogue know them. */
export async function findWholeDays(db: Database, scope: EraseScope): Promise<Matches> {
  return db.transaction(
    async (connection) => {
      const segments = await queries.listSegmentsOf(connection, scope);
      const ids = segments.map((segment) => segment.id);
      const days = await queries.listSegmentDaysOf(connection, scope, ids);
      const cold = segments.map((segment) => ({
        segment,
        days: days.filter((day) => day.segment_id === segment.id),
      }));
      return { hot: await queries.listHotDaysOf(connection, scope), cold, foundIds: new Set() };
    },
    { isolation: 'repeatable read' },
  );
}

/** What matches of the hot records, by store and day. */
export async function findHot(
  connection: Queryable,
  scope: EraseScope,
  { foundIds, signal }: { foundIds?: Set<string>; signal: AbortSignal },
): Promise<DayTriple[]> {
  const counted = await queries.listHotDaysOf(connection, scope);
  if (scope.eventIds === null) return counted;
  const days: DayTriple[] = [];
  for (const month of new Set(counted.map(({ day }) => day.slice(0, 7)))) {
    signal.throwIfAborted();
    for (const match of await queries.matchHotMonth(connection, scope, month)) {
      if (match.event_id === null) days.push(match);
      else foundIds?.add(match.event_id);
    }
  }
  return days;
}

async function readMatches(
  { objects, duckdb }: MatchTools,
  search: {
    segment: queries.SegmentRow;
    scope: EraseScope;
    foundIds: Set<string>;
    signal: AbortSignal;
  },
): Promise<DayTriple[]> {
  const { segment, scope, foundIds, signal } = search;
  const { object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  try {
    const object = await objects.open({ key, sizeBytes, sha256 }, { signal });
    try {
      const { days, ids } = await matchFile(duckdb, { path: object.path, scope, signal });
      for (const id of ids) foundIds.add(id);
      return days;
    } finally {
      await object.release();
    }
  } catch (error) {
    if (!isObjectFault(error)) throw error;
    throw segmentDamaged({ tenant: scope.tenant, ...segment }, error, {
      problem: (days) => `Nothing tells which records ${days} are meant`,
      remedy: 'Nothing was erased. Restore it from a backup, then ask again.',
    });
  }
}

/** A pass over one segment; long ones are of a million records. */
const timeoutMillis = 300_000;

/** What of a segment's file is to be erased: triples by store and day, from content, and the event ids. */
export async function matchFile(
  duckdb: DuckDb,
  { path, scope, signal }: { path: string; scope: EraseScope; signal: AbortSignal },
): Promise<{ days: DayTriple[]; ids: string[] }> {
  const options = { signal, timeoutMillis };
  const [span] = await duckdb.run<MatchSpan>(spanSql(path, scope), options);
  const { first_row: first = null, last_row: last = null, ids } = span ?? {};
  if (first === null || last === null) return { days: [], ids: [] };
  const days = await duckdb.run<MatchedDay>(matchedDaysSql(path, scope, { first, last }), options);
  return {
    ids: JSON.parse(ids ?? '[]') as string[],
    days: days.map((row) => ({
      store: JSON.parse(row.store) as string,
      day: row.day,
      count: Number(row.count),
      bytes: Number(row.bytes),
      digest: row.digest,
    })),
  };
}

/** DuckDB's condition on the rows of a segment's file that stay. */
export async function keepFilter(
  duckdb: DuckDb,
  file: { path: string; rowCount: number; scope: EraseScope; signal: AbortSignal },
): Promise<string> {
  const { path, rowCount, scope, signal } = file;
  if (scope.eventIds === null) return `not (${matchSql(scope)})`;
  const options = { signal, timeoutMillis };
  const [row] = await duckdb.run<{ bits: string | null }>(
    matchedRowsSql(path, scope, rowCount),
    options,
  );
  return row?.bits ? keptRowsSql(row.bits) : 'true';
}

/** DuckDB's condition on the columns of a segment: the records that are to go. None of them is null. */
function matchSql({ store, eventIds, from, to }: EraseScope): string {
  const conditions: string[] = [];
  if (store !== null) conditions.push(`store = ${literal(store)}`);
  if (from !== null) conditions.push(`occurred_at >= ${instant(from)}`);
  if (to !== null) conditions.push(`occurred_at < ${instant(to)} + interval 1 day`);
  if (eventIds !== null) {
    // A list written out would be compared with one by one.
    const ids = literal(JSON.stringify(eventIds));
    conditions.push(`event_id in (select unnest(from_json(${ids}, '["VARCHAR"]')))`);
  }
  return conditions.join(' and ');
}

function instant(day: string): string {
  return `make_timestamptz(${Date.parse(day) * 1000})`;
}

/** Where a segment's matches begin and end, and their event ids as one JSON array. */
type MatchSpan = { first_row: string | null; last_row: string | null; ids: string | null };

/** Reads only the columns of the key: most segments have no match, or few. */
function spanSql(path: string, scope: EraseScope): string {
  return `
    select min(file_row_number) as first_row, max(file_row_number) as last_row,
      to_json(list(distinct event_id))::varchar as ids
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

type MatchedDay = {
  store: string;
  day: string;
  count: string;
  bytes: string;
  digest: string;
};

/** The triples of what matches in these rows, from content. Names come as JSON, which keeps all of them. */
function matchedDaysSql(
  path: string,
  scope: EraseScope,
  rows: { first: string; last: string },
): string {
  return `
    select to_json(store)::varchar as store,
      make_timestamp(epoch_us(occurred_at))::date::varchar as day, count(*) as count,
      sum(bytes)::bigint as bytes, ${digestSumSql} as digest
    from ${readSegments([path])}
    where file_row_number between ${rows.first} and ${rows.last} and ${matchSql(scope)}
    group by 1, 2 order by 1, 2`;
}

/** Which of a segment's rows match, as text: a 1 for each that does, else a 0, in the order of the file. */
function matchedRowsSql(path: string, scope: EraseScope, rowCount: number): string {
  return `
    select bitstring_agg(file_row_number, 0, ${rowCount - 1})::varchar as bits
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

/**
 * The condition on the rows to keep. By row: an `event_id in (…)` is a join to DuckDB, after which row groups
 * come in any order, while a plain condition keeps the order of the file.
 */
function keptRowsSql(bits: string): string {
  return `get_bit(${literal(bits)}::bit, file_row_number::integer) = 0`;
}
