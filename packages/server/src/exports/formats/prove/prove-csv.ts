import { type DuckDb, DuckDbError, literal } from '../../../platform/parquet/duckdb.ts';
import type { FileOptions, WrittenBody } from '../format.ts';
import { proofOf } from './proof.ts';
import { type Proved, proveRows } from './prove-rows.ts';

/** Rows are mostly short; the longest there can be have 16 MiB of JSON, two thirds of it quotes. */
const shortLine = 2 * 1024 * 1024;
const longLine = 40 * 1024 * 1024;
const leastBuffer = 4 * 1024 * 1024;

/**
 * Reads CSV back. Several threads are quicker; where a cell with line breaks makes them lose the thread,
 * or a row is long, one reads alone, which has DuckDB hold the file in memory.
 */
export async function proveCsv(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions,
): Promise<Proved> {
  const prove = (reading: Reading) =>
    proveRows(duckdb, rowsSql(written.path, options, reading), {
      hasContent: proofOf(options) === 'content',
      signal: written.signal,
    });
  try {
    const proved = await prove({ lineBytes: shortLine, isParallel: true });
    if (proved.rows === written.rows) return proved;
  } catch (error) {
    if (!(error instanceof DuckDbError)) throw error;
  }
  return prove({ lineBytes: longLine, isParallel: false });
}

type Reading = { lineBytes: number; isParallel: boolean };

function rowsSql(path: string, { columns, profile }: FileOptions, reading: Reading): string {
  const types = columns.map((_, index) => `c${index}: 'varchar'`).join(', ');
  const { lineBytes, isParallel } = reading;
  // DuckDB misreads CRLF when it is told to expect it, and finds it by itself.
  const lineEnd = profile === 'machine' ? `new_line = '\\n',` : '';
  const rows = `read_csv(${literal(path)}, auto_detect = false, header = false,
    columns = {${types}}, delim = ',', quote = '"', escape = '"', ${lineEnd}
    nullstr = '', allow_quoted_nulls = false, strict_mode = true, parallel = ${isParallel},
    max_line_size = ${lineBytes}, buffer_size = ${Math.max(lineBytes, leastBuffer)})`;
  const list = columns.map((name, index) =>
    name === 'occurred_at'
      ? `c${index}::timestamptz as occurred_at`
      : `c${index} as "${name.replaceAll('"', '""')}"`,
  );
  return `select ${list.join(', ')} from ${rows}`;
}
