import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { from as copyFrom } from 'pg-copy-streams';
import { withPostgres } from './postgres.ts';

/** The cells of a machine CSV with a header, row by row, as a database reads them; null = NULL. */
export type ReadBack = { columns: string[]; rows: (string | null)[][] };

/** Reads a CSV by DuckDB, which is told the dialect, so that it guesses nothing. */
export async function readWithDuckDb(csv: Buffer): Promise<ReadBack> {
  const columns = columnsOf(csv);
  const path = join(tmpdir(), `svcctl-e2e-${randomUUID()}.csv`);
  await writeFile(path, csv);
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    const types = columns.map((name) => `'${name}': 'varchar'`).join(', ');
    const cells = columns.map((name) => `"${name}"`).join(', ');
    // Each row is fetched as JSON: with plain values, the DuckDB package would drop a byte order mark at the start of a
    // cell.
    const reader = await connection.runAndReadAll(
      `select to_json([${cells}])::varchar from read_csv('${path}', columns = {${types}},
         header = true, all_varchar = true, auto_detect = false, delim = ',', quote = '"',
         escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false,
         strict_mode = true, parallel = false)`,
    );
    const rows = reader.getRows().map(([row]) => JSON.parse(String(row)) as (string | null)[]);
    return { columns, rows };
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(path);
  }
}

/** Reads a CSV by PostgreSQL's COPY FROM, into a table of text columns. */
export async function readWithPostgres(url: string, csv: Buffer): Promise<ReadBack> {
  const columns = columnsOf(csv);
  return withPostgres(url, async (client) => {
    const list = columns.map((name) => `"${name}" text`).join(', ');
    await client.query(`create temporary table read_back (ordinal serial, ${list})`);
    const names = columns.map((name) => `"${name}"`).join(', ');
    const copy = client.query(
      copyFrom(`copy read_back (${names}) from stdin with (format csv, header match)`),
    );
    await pipeline([csv], copy);
    const result = await client.query({
      text: `select ${names} from read_back order by ordinal`,
      rowMode: 'array',
    });
    return { columns, rows: result.rows as (string | null)[][] };
  });
}

/** Names of the header, which the tests keep free of quotes. */
function columnsOf(csv: Buffer): string[] {
  return csv.toString('utf8', 0, csv.indexOf('\n')).split(',');
}
