import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

export type Row = Record<string, unknown>;

/** Where the embedded PostgreSQL of a data dir listens, as the service itself would connect. */
export async function findPostgresUrl(dataDir: string): Promise<string> {
  const cluster = join(dataDir, 'postgres');
  const password = (await readFile(join(cluster, 'svcctl-password'), 'utf8')).trim();
  const port = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[3]?.trim();
  return `postgres://svcctl:${password}@127.0.0.1:${port}/svcctl`;
}

/** Runs `work` with a connection of our own to a database, and closes it afterwards. */
export async function withPostgres<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'e2e' });
  // When the server is killed, the running query fails; the client's error event must not also end the test run.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function query<R extends Row>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<R[]> {
  return withPostgres(url, async (client) => (await client.query<R>(text, values)).rows);
}

/** The pid of the PostgreSQL server of this cluster; undefined when none runs. */
export async function readPostmasterPid(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return pid > 0 ? pid : undefined;
}

/** Lists the database connections of a service that hold a transaction, a snapshot or a running query. */
export async function listBusyBackends(url: string, servicePid: number): Promise<Row[]> {
  return query(
    url,
    `select pid, state, wait_event, backend_xmin, left(query, 60) as query
     from pg_stat_activity
     where application_name = $1 and (state is distinct from 'idle' or backend_xmin is not null)`,
    [`svcctl:${servicePid}`],
  );
}

export async function listEventIds(url: string): Promise<string[]> {
  const rows = await query<{ event_id: string }>(url, 'select event_id from enrichment_records');
  return rows.map((row) => row.event_id);
}
