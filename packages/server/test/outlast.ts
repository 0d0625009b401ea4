import sql from 'sql-template-tag';
import type { Connection, QueryOptions } from '../src/platform/postgres/database.ts';

/** Runs a statement that takes longer than the connection waits for answers. */
export async function outlast(connection: Connection, options: QueryOptions = {}): Promise<void> {
  const { connectionParameters } = connection.client as unknown as {
    connectionParameters: { query_timeout: number };
  };
  const usual = connectionParameters.query_timeout;
  connectionParameters.query_timeout = 1;
  await connection.query(sql`select pg_sleep(0.1)`, options);
  connectionParameters.query_timeout = usual;
}
