import { literal } from '../../platform/parquet/duckdb.ts';
import { digestSumSql, readSegments } from '../../records/index.ts';
import type { EraseScope } from './scope.ts';

/** DuckDB's condition on the columns of a segment: the records that are to go. None of them is null. */
export function matchSql({ store, eventIds, from, to }: EraseScope): string {
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
export type MatchSpan = { first_row: string | null; last_row: string | null; ids: string | null };

/** Reads only the columns of the key: most segments have no match, or few. */
export function spanSql(path: string, scope: EraseScope): string {
  return `
    select min(file_row_number) as first_row, max(file_row_number) as last_row,
      to_json(list(distinct event_id))::varchar as ids
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

export type MatchedDay = {
  store: string;
  day: string;
  count: string;
  bytes: string;
  digest: string;
};

/** The triples of what matches in these rows, from content. Names come as JSON, which keeps all of them. */
export function matchedDaysSql(
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
export function matchedRowsSql(path: string, scope: EraseScope, rowCount: number): string {
  return `
    select bitstring_agg(file_row_number, 0, ${rowCount - 1})::varchar as bits
    from ${readSegments([path])} where ${matchSql(scope)}`;
}

/**
 * The condition on the rows to keep. By row: an `event_id in (…)` is a join to DuckDB, after which row groups
 * come in any order, while a plain condition keeps the order of the file.
 */
export function keptRowsSql(bits: string): string {
  return `get_bit(${literal(bits)}::bit, file_row_number::integer) = 0`;
}
