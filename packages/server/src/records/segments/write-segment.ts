import { type DuckDb, DuckDbError, isOutOfMemory, literal } from '../../platform/duckdb.ts';
import {
  readSegments,
  segmentColumns,
  segmentFormatFor,
  segmentOrder,
  smallestGroups,
} from './segment-sql.ts';

/** A segment of a million records takes less than this, even on a busy machine. */
const timeoutMillis = 600_000;

type Target = {
  /** The file to write. A file that exists is replaced. */
  readonly target: string;
  /** How many records will come and their bytes, which decide how many records stand in a row group. */
  readonly count: number;
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
};

type SpoolSource = Target & { readonly tenant: string; readonly spoolPath: string };

/**
 * Turns a file of `spoolHotRows` into a segment. If lines are long it is read again with larger buffers: 16 MiB of JSON
 * are 27 MiB of CSV if two thirds are quotes.
 */
export async function writeSegmentFromSpool(duckdb: DuckDb, source: SpoolSource): Promise<void> {
  try {
    await writeFromCsv(duckdb, source, 2 * mebibyte);
  } catch (error) {
    if (!isCsvError(error)) throw error;
    await writeFromCsv(duckdb, source, 40 * mebibyte).catch((again: unknown) => {
      // DuckDB's message holds the line itself, which may be private, so the error says only this.
      throw isCsvError(again)
        ? new DuckDbError('the spool file is not CSV as it should be')
        : again;
    });
  }
}

function isCsvError(error: unknown): boolean {
  return error instanceof DuckDbError && /CSV|line size/i.test(error.message);
}

const mebibyte = 1024 * 1024;

const spoolColumns = `{store: 'varchar', occurred_us: 'bigint', event_id: 'varchar', recorded_us: 'bigint',
  kind: 'varchar', source: 'varchar', model: 'varchar', confidence: 'varchar', bytes: 'integer',
  enrichment: 'varchar'}`;

/**
 * Reads with several threads: each line is a record, so none takes the inside of a text for a line. One thread alone
 * (parallel = false) would hold the whole file in memory.
 */
async function writeFromCsv(duckdb: DuckDb, source: SpoolSource, lineBytes: number): Promise<void> {
  const bufferBytes = Math.max(lineBytes, 4 * mebibyte);
  const rows = `read_csv(${literal(source.spoolPath)}, auto_detect = false, header = false,
    columns = ${spoolColumns}, delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '',
    allow_quoted_nulls = false, strict_mode = true, parallel = true,
    max_line_size = ${lineBytes}, buffer_size = ${bufferBytes})`;
  await write(
    duckdb,
    source,
    `select ${literal(source.tenant)} as tenant, store, make_timestamptz(occurred_us) as occurred_at,
      ${manyLines('event_id')}, make_timestamptz(recorded_us) as recorded_at, ${manyLines('kind')},
      ${manyLines('source')}, ${manyLines('model')}, confidence, bytes, enrichment from ${rows}`,
  );
}

/** Makes the SQL that turns U+0001 and a letter back into the line break that `selectHotRows` replaced. */
function manyLines(column: string): string {
  return `case when contains(${column}, chr(1)) then
    replace(replace(replace(${column}, chr(1) || 'n', chr(10)), chr(1) || 'r', chr(13)), chr(1) || 'e', chr(1))
    else ${column} end as ${column}`;
}

type SegmentSource = Target & {
  /** Segments of one tenant, as local files. */
  readonly paths: readonly string[];
  /** The rows to keep, as DuckDB SQL over the columns of a segment. It must be made by code, with `literal`. */
  readonly filter?: string | undefined;
  /** Whether the rows are in the order of the keys when the segments are read one after another. */
  readonly isInOrder?: boolean;
};

/** Writes the rows of segments into one, in key order. DuckDB sorts all at once; of many use `mergeSegments`. */
export async function writeSegmentFromSegments(
  duckdb: DuckDb,
  source: SegmentSource,
): Promise<void> {
  const { paths, filter, isInOrder = paths.length === 1 } = source;
  const where = filter === undefined ? '' : `where ${filter}`;
  const order = isInOrder ? '' : `order by ${segmentOrder}`;
  await write(
    duckdb,
    source,
    `select ${segmentColumns.join(', ')} from ${readSegments(paths)} ${where} ${order}`,
  );
}

/** Writes records, given as SQL in the order of their keys, that are stored at one time: `recordedAt`, as in answers. */
export async function writeSegmentFromRecords(
  duckdb: DuckDb,
  source: Target & { readonly rows: string; readonly recordedAt: string },
): Promise<void> {
  const columns = segmentColumns.map((column) =>
    column === 'recorded_at' ? `${literal(source.recordedAt)}::timestamptz as recorded_at` : column,
  );
  await write(duckdb, source, `select ${columns.join(', ')} from (${source.rows})`);
}

/** Writes rows to a file, again with the smallest row groups when memory runs out: large records may stand together. */
async function write(duckdb: DuckDb, target: Target, rows: string): Promise<void> {
  const { count, bytes, signal } = target;
  const options = { timeoutMillis, signal };
  const copy = (format: string) =>
    duckdb.run(`copy (${rows}) to ${literal(target.target)} (${format})`, options);
  try {
    await copy(segmentFormatFor(count, bytes));
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    await copy(smallestGroups);
  }
}
