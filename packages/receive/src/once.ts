import { WebhookError } from './error.ts';

/**
 * Does work for an id unless it has been done, and remembers that it was. Returns whether it did it now. What throws was
 * not done: the next attempt does it. Who comes while it is being done waits for that.
 */
export type Once<Client = undefined> = (
  id: string,
  work: (client: Client) => unknown,
) => Promise<boolean>;

/**
 * Remembers ids in this process, as many as `max` (100,000) and for so many days (3, longer than the service retries by
 * itself). It forgets all at a restart, and knows nothing of other processes.
 */
export function inMemory({
  max = 100_000,
  days = 3,
  now = Date.now,
}: {
  max?: number;
  days?: number;
  now?: () => number;
} = {}): Once {
  /** Until when an id is remembered; the first ends first. */
  const done = new Map<string, number>();
  const underWay = new Map<string, Promise<unknown>>();
  return async (id, work) => {
    const other = underWay.get(id);
    if (other !== undefined) {
      await other;
      return false;
    }
    if ((done.get(id) ?? 0) > now()) return false;
    const doing = (async () => work(undefined))();
    underWay.set(id, doing);
    try {
      await doing;
    } finally {
      underWay.delete(id);
    }
    done.delete(id);
    done.set(id, now() + days * 86_400_000);
    for (const [old, until] of done) {
      if (done.size <= max && until > now()) break;
      done.delete(old);
    }
    return true;
  };
}

/** What is used of a client of `pg`. */
export type PostgresClient = {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Record<string, unknown>[]; readonly command?: string }>;
  release(isBroken?: boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
};

/** What is used of a pool of `pg`. */
export type PostgresPool<Client extends PostgresClient = PostgresClient> = {
  connect(): Promise<Client>;
};

/**
 * Remembers ids in a table of PostgreSQL, which it makes if it is not there, for so many days (30). The work is in the
 * transaction that stores the id, and is given its client: what it writes with that is written exactly once, whatever
 * dies meanwhile. Of processes that have the same id at the same time one does it, and the others wait. Each work holds a
 * connection: one that needs a second one takes it from another pool, or all could wait for each other.
 *
 * `table` is a name in lower case, with a schema before a dot if need be. Throws a WebhookError `option_invalid`.
 */
export function inPostgres<Client extends PostgresClient = PostgresClient>(
  pool: PostgresPool<Client>,
  { table = 'received_webhooks', days = 30 }: { table?: string; days?: number } = {},
): Once<Client> {
  if (!/^([a-z_][a-z0-9_]{0,48}\.)?[a-z_][a-z0-9_]{0,48}$/.test(table)) {
    throw new WebhookError('option_invalid', `table: ${table} is no name of a table`);
  }
  const { make, note, name } = statementsFor(table);
  let isThere = false;
  return async (id, work) => {
    const client = await pool.connect();
    let isBroken = false;
    // Without a listener, a connection that is lost while the work does something else would end the process.
    const noteBroken = () => {
      isBroken = true;
    };
    client.on('error', noteBroken);
    try {
      if (!isThere) {
        const { rows } = await client.query('select to_regclass($1) as oid', [name]);
        if (rows[0]?.oid === null) await client.query(make);
        isThere = true;
      }
      await client.query('begin isolation level read committed');
      const { rows } = await client.query(note, [id, days]);
      if (rows.length > 0) await work(client);
      const { command } = await client.query('commit');
      // PostgreSQL answers so, and raises no error, when a statement has failed and the work has passed over that.
      if (command === 'ROLLBACK') throw new Error('A statement of the handler has failed');
      return rows.length > 0;
    } catch (error) {
      await client.query('rollback').catch(noteBroken);
      throw error;
    } finally {
      client.removeListener('error', noteBroken);
      client.release(isBroken);
    }
  };
}

function statementsFor(table: string) {
  const parts = table.split('.');
  const name = parts.map((part) => `"${part}"`).join('.');
  // Two processes that make the same table at once would fail without the lock. All of it is one transaction.
  const make = `
    select pg_advisory_xact_lock(hashtextextended('svcctl receive ${table}', 0));
    create table if not exists ${name} (
      id text primary key,
      received_at timestamptz not null default now()
    );
    create index if not exists "${parts.at(-1)}_received_at" on ${name} (received_at)`;
  // A few old ids go with each new one, so that nobody has to remove them. Who inserts an id that another transaction
  // has inserted waits for its end.
  const note = `
    with old as (
      select id from ${name} where received_at < now() - make_interval(days => $2::int)
      order by received_at limit 10 for update skip locked
    ), removed as (
      delete from ${name} where id in (select id from old)
    )
    insert into ${name} (id) values ($1) on conflict do nothing returning id`;
  return { make, note, name };
}
