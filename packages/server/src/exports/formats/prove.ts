import { type DuckDb, DuckDbError, literal } from '../../platform/duckdb.ts';
import { digestSumSql } from '../../records/sql.ts';
import { recordColumns } from '../values.ts';
import type { FileFormat, FileOptions, WrittenBody } from './format.ts';

/** Whether a file has all that the digest is of. A spreadsheet has guards and no NULL; JSON ends with enrichment. */
export function proofOf(options: FileOptions): FileFormat['proof'] {
  const { format, columns, fields, template, profile } = options;
  if (fields !== undefined || template !== undefined) return 'rows';
  const hasAll = recordColumns.every((name) => columns.includes(name));
  if (!hasAll || (format === 'csv' && profile !== 'machine')) return 'rows';
  if (format === 'ndjson' && columns.at(-1) !== 'enrichment') return 'rows';
  return 'content';
}

/** How long a line may be for DuckDB: the longest has 16 MiB of JSON, two thirds of it quotes, which CSV doubles. */
const shortLine = 2 * 1024 * 1024;
const longLine = 40 * 1024 * 1024;
const leastBuffer = 4 * 1024 * 1024;

/**
 * Reads CSV back. Several threads are faster. If a cell with line breaks makes them miscount, or a row is too long for
 * them, a single thread reads the file again, for which DuckDB holds it in memory.
 */
export async function proveCsv(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions,
): Promise<Proved> {
  const prove = (reading: Reading) =>
    proveRows(duckdb, rowsSql(written, options, reading), {
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

function rowsSql(written: WrittenBody, options: FileOptions, reading: Reading): string {
  const list = options.columns.map((name, index) =>
    name === 'occurred_at'
      ? `c${index}::timestamptz as occurred_at`
      : `c${index} as "${name.replaceAll('"', '""')}"`,
  );
  return `select ${list.join(', ')} from ${readCsvSql(written, options, reading)}`;
}

/** The rows of a CSV file without their names: columns c0, c1, … of text. */
function readCsvSql(
  { path, compression = 'none' }: Pick<WrittenBody, 'path' | 'compression'>,
  { columns, profile }: FileOptions,
  reading: Reading,
): string {
  const types = columns.map((_, index) => `c${index}: 'varchar'`).join(', ');
  const { lineBytes, isParallel } = reading;
  // DuckDB misreads CRLF when it is told to expect it, but recognizes it by itself.
  const lineEnd = profile === 'machine' ? `new_line = '\\n',` : '';
  return `read_csv(${literal(path)}, auto_detect = false, header = false,
    columns = {${types}}, delim = ',', quote = '"', escape = '"', ${lineEnd}
    nullstr = '', allow_quoted_nulls = false, strict_mode = true, parallel = ${isParallel},
    max_line_size = ${lineBytes}, buffer_size = ${Math.max(lineBytes, leastBuffer)},
    compression = '${compression}')`;
}

/** The names in the header of a CSV file that holds nothing else. */
export async function readHeader(
  duckdb: DuckDb,
  written: Pick<WrittenBody, 'path' | 'compression' | 'signal'>,
  options: FileOptions,
): Promise<string[]> {
  const reading = { lineBytes: shortLine, isParallel: false };
  const rows = await duckdb.run<Record<string, string | null>>(
    `select * from ${readCsvSql(written, options, reading)}`,
    { signal: written.signal, timeoutMillis },
  );
  return rows.flatMap((row) => Object.values(row).map(String));
}

/** Reads NDJSON back. Each line must be JSON. */
export async function proveNdjson(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions,
): Promise<Proved> {
  const hasContent = proofOf(options) === 'content';
  const prove = (lineBytes: number) => {
    const lines = linesSql(written, lineBytes);
    return proveRows(duckdb, hasContent ? contentSql(lines) : validSql(lines), {
      hasContent,
      signal: written.signal,
    });
  };
  try {
    return await prove(shortLine);
  } catch (error) {
    if (!(error instanceof DuckDbError) || !/line size/i.test(error.message)) throw error;
    return prove(longLine);
  }
}

/** The lines of a file. They contain neither line breaks nor other control characters, so nothing in them is quoted. */
function linesSql(
  { path, compression = 'none' }: Pick<WrittenBody, 'path' | 'compression'>,
  lineBytes: number,
): string {
  return `read_csv(${literal(path)}, auto_detect = false, header = false, columns = {line: 'varchar'},
    delim = chr(4), quote = chr(3), escape = chr(3), new_line = '\\n', nullstr = '',
    strict_mode = true, max_line_size = ${lineBytes}, buffer_size = ${Math.max(lineBytes, leastBuffer)},
    compression = '${compression}')`;
}

function validSql(lines: string): string {
  return `select case when json_valid(line) then line else error('a line is not JSON') end as line
    from ${lines}`;
}

const texts = ['tenant', 'store', 'event_id', 'occurred_at', 'kind', 'source', 'model'] as const;

const enrichmentKey = ',"enrichment":';

/**
 * The columns of a record, cut out of its line as they are spelled: a quote tells a key from text, and before the
 * enrichment, which is last, there are only the keys of the record. The digest shows whether it is right.
 */
function contentSql(lines: string): string {
  const values = texts.map((name) =>
    name === 'occurred_at' ? `texts.${name}::timestamptz as ${name}` : `texts.${name}`,
  );
  const types = JSON.stringify(Object.fromEntries(texts.map((name) => [name, 'VARCHAR'])));
  const key = literal(enrichmentKey);
  const keyLength = enrichmentKey.length;
  return `
    select ${values.join(', ')},
      nullif(split_part(split_part(head, '"confidence":', 2), ',', 1), '') as confidence,
      substring(line, length(head) + ${keyLength + 1}, length(line) - length(head) - ${keyLength + 1})
        as enrichment
    from (
      select line, head, from_json(head || '}', ${literal(types)}) as texts
      from (
        select line, split_part(line, ${key}, 1) as head
        from (
          select if(ends_with(line, '}}'), line, error('a line is not a record')) as line
          from ${lines}
        )
      )
    )`;
}

/** What was read back. The digest is null where the file does not contain what it is computed from. */
export type Proved = { rows: number; digest: string | null };

const timeoutMillis = 600_000;

/**
 * Counts rows and computes the digest of their content. `rowsSql` has to have the columns of a record, as in a segment.
 */
export async function proveRows(
  duckdb: DuckDb,
  rowsSql: string,
  { hasContent, signal }: { hasContent: boolean; signal: AbortSignal },
): Promise<Proved> {
  const digest = hasContent ? digestSumSql : 'null';
  const [proved] = await duckdb.run<{ rows: string; digest: string | null }>(
    `select count(*) as rows, ${digest} as digest from (${rowsSql})`,
    { signal, timeoutMillis },
  );
  return {
    rows: Number(proved?.rows),
    // The sum over no rows is NULL.
    digest: hasContent ? (proved?.digest ?? '0') : null,
  };
}
