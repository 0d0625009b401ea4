import type { DuckDb } from '../../platform/parquet/duckdb.ts';
import type { DayTriple } from '../../records/index.ts';
import {
  keptRowsSql,
  type MatchedDay,
  type MatchSpan,
  matchedDaysSql,
  matchedRowsSql,
  matchSql,
  spanSql,
} from './match-sql.ts';
import type { EraseScope } from './scope.ts';

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
