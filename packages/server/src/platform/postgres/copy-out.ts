import type { Readable } from 'node:stream';
import { to as copyTo } from 'pg-copy-streams';
import sql, { type Sql } from 'sql-template-tag';
import type { Connection, Database } from './database.ts';
import { inlineSql } from './inline-sql.ts';

/** CSV as PostgreSQL writes it (LF, NULL as nothing at all), with the given columns always quoted. */
export function copyCsv(
  connection: Connection,
  query: Sql,
  options: { header: boolean; quoted: readonly string[] },
): Readable & { rowCount: number } {
  const force = options.quoted.length === 0 ? '' : `, force_quote (${options.quoted.join(', ')})`;
  return connection.client.query(
    copyTo(
      `copy (${inlineSql(query)}) to stdout with (format csv, header ${options.header}${force})`,
      { highWaterMark: 256 * 1024 },
    ),
  );
}

/**
 * Ends what a connection is doing. Dropping the connection alone would leave its backend holding the
 * snapshot until it next writes.
 */
export async function cancelBackend(db: Database, connection: Connection): Promise<void> {
  const { processID } = connection.client as unknown as { processID: number };
  await db.query(sql`select pg_cancel_backend(${processID})`);
}
