import { type DuckDb, DuckDbError } from '../../platform/duckdb.ts';
import {
  columnsOfDay,
  columnsOfRow,
  type DayOfFile,
  isScattered,
  parseText,
  toSegmentDay,
} from './read-segment.ts';
import type { SegmentDay } from './segment.ts';
import { listOf, readSegments } from './segment-sql.ts';

const timeoutMillis = 600_000;

/** A segment as a local file, and the tenant whose records it must hold. */
type SegmentFile = { readonly tenant: string; readonly path: string };

type DayOfFiles = DayOfFile & { filename: string; is_misplaced: boolean; is_uniform: boolean };

/**
 * Reads whole segments by one statement, a tenth of the time for segments of 50 records, and returns their days by
 * their paths. What is no proper segment is left out, for `readSegmentDays` to tell why, or all are if it fails.
 */
export async function readSmallSegments(
  duckdb: DuckDb,
  files: readonly SegmentFile[],
  signal: AbortSignal,
): Promise<Map<string, SegmentDay[]>> {
  const held = new Map<string, SegmentDay[]>();
  if (files.length === 0) return held;
  const paths = files.map(({ path }) => path);
  const rows = await duckdb
    .run<DayOfFiles>(daysSql(paths), { timeoutMillis, signal })
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

/** Whether a row does not follow the one before: `over ()` takes rows as they are read, without sorting. */
function daysSql(paths: readonly string[]): string {
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
