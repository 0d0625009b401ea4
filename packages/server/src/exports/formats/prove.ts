import { type DuckDb, DuckDbError, literal } from '../../platform/duckdb.ts';
import { digestSumSql } from '../../records/index.ts';
import { type Proof, recordColumns } from '../values.ts';
import type { FileOptions, WrittenBody } from './format.ts';

/**
 * Whether a file holds all that the digest is made of, to the letter: a spreadsheet's cells are guarded
 * and know no NULL. In JSON the enrichment is found by standing last.
 */
export function proofOf({ format, columns, profile }: FileOptions): Proof {
  const hasAll = recordColumns.every((name) => columns.includes(name));
  if (!hasAll || (format === 'csv' && profile !== 'machine')) return 'rows';
  if (format === 'ndjson' && columns.at(-1) !== 'enrichment') return 'rows';
  return 'content';
}

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

/** Reads lines back: each must be JSON. */
export async function proveNdjson(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions,
): Promise<Proved> {
  const hasContent = proofOf(options) === 'content';
  const prove = (lineBytes: number) => {
    const lines = linesSql(written.path, lineBytes);
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

/** Lines hold no line breaks and no control characters, so nothing in them is quoted. */
function linesSql(path: string, lineBytes: number): string {
  return `read_csv(${literal(path)}, auto_detect = false, header = false, columns = {line: 'varchar'},
    delim = chr(4), quote = chr(3), escape = chr(3), new_line = '\\n', nullstr = '',
    strict_mode = true, max_line_size = ${lineBytes}, buffer_size = ${Math.max(lineBytes, leastBuffer)})`;
}

function validSql(lines: string): string {
  return `select case when json_valid(line) then line else error('a line is not JSON') end as line
    from ${lines}`;
}

const texts = ['tenant', 'store', 'event_id', 'occurred_at', 'kind', 'source', 'model'] as const;

const enrichmentKey = ',"enrichment":';

/**
 * A key is told from text by its quote, which text escapes; and before the enrichment, which stands last,
 * there are no keys but the record's. So numbers and the enrichment are taken out as they are spelled, and
 * only what is before it has to be parsed: what it is itself the digest tells.
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

/** What was read back. The digest is null where the file does not hold what it is made of. */
export type Proved = { rows: number; digest: string | null };

const timeoutMillis = 600_000;

/** Counts rows and digests their content; `rowsSql` has the columns of a record, as a segment has them. */
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
    // Of no rows there is no sum.
    digest: hasContent ? (proved?.digest ?? '0') : null,
  };
}
