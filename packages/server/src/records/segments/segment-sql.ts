import { literal } from '../../platform/duckdb.ts';

// What a segment looks like inside, as DuckDB's SQL.

/**
 * Columns of a segment. Times are UTC instants to the microsecond, `confidence` the decimal text that
 * was sent, `enrichment` JSON text to the letter. The tenant stands in the path too, so that Hive-style
 * readers can skip by it, and in the file, so that each file is whole by itself.
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

/** The order of its rows. Text compares by its UTF-8 bytes, as in PostgreSQL under "C". */
export const segmentOrder = 'store, occurred_at, event_id';

/** A multiple of DuckDB's vector of 2,048. With 20,480 a file was 30 % larger. */
export const rowGroupRows = 61_440;

/**
 * Options of `copy … to … (…)` for so many records of so many bytes: large ones stand fewer together, for
 * memory's sake.
 */
export function segmentFormatFor(count: number, bytes: number): string {
  const fitting = Math.floor(rowGroupBytes / Math.max(1, bytes / Math.max(1, count)) / vectorRows);
  return formatWith(Math.min(rowGroupRows, Math.max(1, fitting) * vectorRows));
}

/** The fewest rows that DuckDB puts into a row group, unless a file has fewer. */
export const vectorRows = 2048;
/** DuckDB holds several while it writes: with 64 MiB, 160 MiB of memory were not enough. */
export const rowGroupBytes = 16 * 1024 * 1024;

/** Options that take the least memory. */
export const smallestGroups = formatWith(vectorRows);

function formatWith(rows: number): string {
  return `format parquet, compression zstd, row_group_size ${rows}`;
}

/**
 * The rows of segments, with `file_row_number`, counted from 0: a filter on it reads only the row groups
 * that it needs. Hive partitioning is off: the tenant is read from the file.
 */
export function readSegments(paths: readonly string[]): string {
  return `read_parquet([${paths.map(literal).join(', ')}], file_row_number = true, hive_partitioning = false)`;
}

/** A time as its text on the wire; `at time zone` would take twice as long. */
export function instantSql(column: string): string {
  return `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
}

/** The digest of a record as kernel/digest.ts computes it, a ubigint. */
export const digestSql = `('0x' || left(md5(concat_ws(chr(31), tenant, store, epoch_us(occurred_at),
  event_id, coalesce(kind, chr(1)), coalesce(source, chr(1)), coalesce(model, chr(1)),
  coalesce(confidence, chr(1)), enrichment)), 16))::ubigint`;

/** The digest of a set of records as decimal text; sums of ubigint are exact in hugeint. */
export const digestSumSql = digestSumOf(digestSql);

/** The same of a column that holds the digests. */
export function digestSumOf(column: string): string {
  return `(sum(${column}) % 18446744073709551616::hugeint)::varchar`;
}
