import { type DuckDb, DuckDbError, literal } from '../../../platform/parquet/duckdb.ts';
import type { FileOptions, WrittenBody } from '../format.ts';
import { proofOf } from './proof.ts';
import { type Proved, proveRows } from './prove-rows.ts';

const shortLine = 2 * 1024 * 1024;
const longLine = 40 * 1024 * 1024;
const leastBuffer = 4 * 1024 * 1024;

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
