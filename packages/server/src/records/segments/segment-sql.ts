import { literal } from '../../platform/duckdb.ts';

// This file says what a segment looks like inside, in the SQL of DuckDB.

/**
 * The columns of a segment. Times are UTC instants to the microsecond, `confidence` is the decimal text that was sent,
 * and `enrichment` is JSON text exactly as it was sent. The tenant stands in the path, so that readers of Hive-style
 * data sets can skip files by it, and in the file as well, so that each file is complete by itself.
 */
export const segmentColumns = [
  'tenant',
  'store',
  'occurred_at',
  'event_id',
  'recorded_at',
  'kind',
  'source',
  'model',
  'confidence',
  'bytes',
  'enrichment',
] as const;

/** The order of the rows. Text compares by its UTF-8 bytes, as it does in PostgreSQL under the collation "C". */
export const segmentOrder = 'store, occurred_at, event_id';

/** A multiple of DuckDB's vector of 2,048 rows. With 20,480 rows in a group a file was 30 % larger. */
export const rowGroupRows = 61_440;

/** The options of COPY for so many records and bytes: DuckDB holds whole row groups, so large records get fewer. */
export function segmentFormatFor(count: number, bytes: number): string {
  const fitting = Math.floor(rowGroupBytes / Math.max(1, bytes / Math.max(1, count)) / vectorRows);
  return formatWith(Math.min(rowGroupRows, Math.max(1, fitting) * vectorRows));
}

/** DuckDB never puts fewer rows into a row group, unless the file has fewer. */
export const vectorRows = 2048;
/** DuckDB holds several row groups while it writes: with groups of 64 MiB, 160 MiB of memory were not enough. */
export const rowGroupBytes = 16 * 1024 * 1024;

/** The options that take the least memory. */
export const smallestGroups = formatWith(vectorRows);

function formatWith(rows: number): string {
  return `format parquet, compression zstd, row_group_size ${rows}`;
}

/** Returns the rows of segments with `file_row_number`, from 0; a filter on it reads only the groups it needs. */
export function readSegments(paths: readonly string[]): string {
  return `read_parquet(${listOf(paths)}, file_row_number = true, hive_partitioning = false)`;
}

/** Returns the paths as DuckDB SQL. */
export function listOf(paths: readonly string[]): string {
  return `[${paths.map(literal).join(', ')}]`;
}

/** Returns a time as the text that answers use. With `at time zone` it would take twice as long. */
export function instantSql(column: string): string {
  return `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
}

/** The UTC day of a record. */
export const dayOfRow = 'make_timestamp(epoch_us(occurred_at))::date';

/** The digest of a record, the same as kernel/digest.ts computes, as a ubigint. */
export const digestSql = `('0x' || left(md5(concat_ws(chr(31), tenant, store, epoch_us(occurred_at),
  event_id, coalesce(kind, chr(1)), coalesce(source, chr(1)), coalesce(model, chr(1)),
  coalesce(confidence, chr(1)), enrichment)), 16))::ubigint`;

/** The digest of a set of records as decimal text. DuckDB sums ubigint exactly, in a hugeint. */
export const digestSumSql = digestSumOf(digestSql);

/** Returns the same for a column that already holds digests. */
export function digestSumOf(column: string): string {
  return `(sum(${column}) % 18446744073709551616::hugeint)::varchar`;
}
