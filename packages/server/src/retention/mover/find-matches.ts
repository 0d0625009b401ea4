import { invalidInput } from '../../kernel/errors.ts';
import { formatCount } from '../../kernel/values.ts';
import { type DuckDb, literal } from '../../platform/duckdb.ts';
import type { ObjectReader } from '../../platform/objects/objects.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import {
  coldPlaceConditions,
  coldWhereSql,
  type DayTriple,
  digestSumSql,
  type LiveSegment,
  openSegment,
  readSegments,
} from '../../records/segments.ts';
import * as queries from './erase-queries.ts';
import { type EraseScope, sliceOf, takesWholeDays, whereOf } from './scope.ts';

type MatchTools = {
  readonly db: Database;
  readonly objects: ObjectReader;
  readonly duckdb: DuckDb;
};

/** The records of a tenant that are to be erased, and where they lie. Triples are by store and day, in key order. */
export type Matches = {
  readonly hot: readonly DayTriple[];
  /** The segments that have matches. */
  readonly cold: readonly { segment: LiveSegment; days: readonly DayTriple[] }[];
  /** The event ids that at least one match has; none is known of whole days. */
  readonly foundIds: ReadonlySet<string>;
};

/** An erasure holds its days of stores in memory: 40,000 of them took 50 MB. */
const mostStoreDays = 250_000;

/**
 * Finds the records of a scope, both tiers in one snapshot. Throws 400 `request_invalid` for too many whole days, 500
 * `segment_damaged`, 503 `cold_tier_unavailable`.
 */
export async function findMatches(
  tools: MatchTools,
  scope: EraseScope,
  signal: AbortSignal,
): Promise<Matches> {
  if (takesWholeDays(scope)) {
    const count = await queries.countDaysOf(tools.db, scope);
    if (count <= mostStoreDays) return findWholeDays(tools.db, scope);
    throw invalidInput(
      '/',
      `these are ${formatCount(count)} days of stores, and one erasure takes ${formatCount(mostStoreDays)}: name a store, or a shorter time with from and to`,
    );
  }
  const foundIds = new Set<string>();
  const { hot, segments } = await tools.db.transaction(
    async (connection) => ({
      segments: await queries.listSegmentsOf(connection, scope),
      hot: await findHot(connection, scope, { foundIds, signal }),
    }),
    { isolation: 'repeatable read' },
  );
  const cold: { segment: LiveSegment; days: readonly DayTriple[] }[] = [];
  for (const segment of segments) {
    const days = await readMatches(tools, { segment, scope, foundIds, signal });
    if (days.length > 0) cold.push({ segment, days });
  }
  return { hot, cold, foundIds };
}

/** Finds the matches of a scope of whole days, from counters and catalogue: no record is read. */
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

/** Finds the hot records that match, by store and day, and adds their event ids to `foundIds` unless days go whole. */
export async function findHot(
  connection: Queryable,
  scope: EraseScope,
  { foundIds, signal }: { foundIds?: Set<string>; signal: AbortSignal },
): Promise<DayTriple[]> {
  const counted = await queries.listHotDaysOf(connection, scope);
  if (takesWholeDays(scope)) return counted;
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
  search: { segment: LiveSegment; scope: EraseScope; foundIds: Set<string>; signal: AbortSignal },
): Promise<DayTriple[]> {
  const { segment, scope, foundIds, signal } = search;
  const object = await openSegment(
    objects,
    { tenant: scope.tenant, ...segment },
    { signal },
    {
      problem: (days) => `Nothing tells which records ${days} are meant`,
      remedy: 'Nothing was erased. Restore it from a backup, then ask again.',
    },
  );
  try {
    const { days, ids } = await matchFile(duckdb, { path: object.path, scope, signal });
    for (const id of ids) foundIds.add(id);
    return days;
  } finally {
    await object.release();
  }
}

/** The time limit for one pass over a segment; large ones have a million records. */
const timeoutMillis = 300_000;

/** The matches in a segment's file: triples, from content, and event ids. Its key columns are read first. */
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

/** A DuckDB condition that selects the rows of a segment's file that stay. */
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

/** A DuckDB condition for the records to erase. No column is ever null, so its negation selects all others. */
function matchSql(scope: EraseScope): string {
  const { eventIds, subject } = scope;
  const conditions = coldPlaceConditions(sliceOf(scope));
  if (eventIds !== null) {
    // As a list in the text of the query the ids would be compared one by one.
    const ids = literal(JSON.stringify(eventIds));
    conditions.push(`event_id in (select unnest(from_json(${ids}, '["VARCHAR"]')))`);
  }
  if (subject !== null) conditions.push(coldWhereSql(whereOf(subject)));
  return conditions.join(' and ');
}

/** The first and the last row of a segment that match, and the event ids of the matches as one JSON array. */
type MatchSpan = { first_row: string | null; last_row: string | null; ids: string | null };

/** Reads only the columns of the key, because most segments have no match, or few. */
function spanSql(path: string, scope: EraseScope): string {
  return `
    select min(file_row_number) as first_row, max(file_row_number) as last_row,
      to_json(list(distinct event_id))::varchar as ids
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

type MatchedDay = { store: string; day: string; count: string; bytes: string; digest: string };

/** Computes the triples of the matches in these rows. Store names come as JSON, which can hold every character. */
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

/** Tells which rows of a segment match: text with a 1 for each row that does and a 0 for each other, in file order. */
function matchedRowsSql(path: string, scope: EraseScope, rowCount: number): string {
  return `
    select bitstring_agg(file_row_number, 0, ${rowCount - 1})::varchar as bits
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

/** The rows to keep, by number. `event_id in (…)` would become a join, which loses the order of the file. */
function keptRowsSql(bits: string): string {
  return `get_bit(${literal(bits)}::bit, file_row_number::integer) = 0`;
}
