import { hash } from 'node:crypto';
import pg from 'pg';
import type { Sql } from 'sql-template-tag';
import { translateDatabaseError } from './database-errors.ts';

export type Row = Record<string, unknown>;

/** Whatever runs one statement: the pool, or the one connection of a transaction. */
export type Queryable = {
  /** Runs a statement, prepared once per connection and text. Throws AppError `database_*`. */
  query<R extends Row>(statement: Sql): Promise<R[]>;
};

export type Database = Queryable & {
  readonly pool: pg.Pool;
  /**
   * Runs `work` in a transaction. Serialization failures, deadlocks and locks not got are tried again, up
   * to five times: `work` must change nothing outside the database.
   */
  transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options?: { isolation?: 'read committed' | 'repeatable read' },
  ): Promise<T>;
  /**
   * Lends a connection. If `work` throws, the connection is destroyed rather than handed to the next
   * caller: a COPY cut half-way leaves it unusable.
   */
  withConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Opens a connection outside the pool, for what lives as long as a connection: locks, notifications. */
  openSession(): Promise<Session>;
  close(): Promise<void>;
};

/** A connection of its own. Its advisory locks and its listening end with it. */
export type Session = Queryable & {
  /** Aborted when the connection is lost or closed. */
  readonly lost: AbortSignal;
  onNotification(handler: (payload: string) => void): void;
  close(): Promise<void>;
};

export type Connection = Queryable & { readonly client: pg.PoolClient };

/** Serialization failure, deadlock, lock not available. */
const retriedCodes = new Set(['40001', '40P01', '55P03']);

/** What no short statement takes: the server gives up after the first, we after the second. */
const statementMillis = 60_000;
const answerMillis = 70_000;
const lockMillis = 10_000;

export function openDatabase(options: {
  url: string;
  maxConnections: number;
  onError: (error: Error) => void;
}): Database {
  const connection: pg.ClientConfig = {
    connectionString: options.url,
    application_name: `svcctl:${process.pid}`,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // Compiling costs more than these short statements take.
    options: `-c timezone=UTC -c datestyle=ISO -c jit=off -c statement_timeout=${statementMillis} -c lock_timeout=${lockMillis}`,
    // A server that hangs rather than dies would hang us with it.
    query_timeout: answerMillis,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections,
    idleTimeoutMillis: 60_000,
  });
  // A connection that breaks while idle: the pool drops it and makes another.
  pool.on('error', options.onError);

  const database: Database = {
    pool,
    query: (statement) => run(pool, statement),
    withConnection: (work) => withConnection(pool, work),
    async transaction(work, { isolation = 'read committed' } = {}) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await withConnection(pool, async (connection) => {
            await connection.client.query(`begin isolation level ${isolation}`);
            const result = await work(connection);
            await connection.client.query('commit');
            return result;
          });
        } catch (error) {
          if (attempt >= 5 || !retriedCodes.has(sqlState(error) ?? '')) throw error;
        }
      }
    },
    openSession: () => openSession(connection),
    close: () => pool.end(),
  };
  return database;
}

async function withConnection<T>(
  pool: pg.Pool,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translateDatabaseError(error);
  }
  // The pool only listens while a connection is idle; a lent one that breaks fails its statement.
  const ignore = () => {};
  client.on('error', ignore);
  let failure: Error | undefined;
  try {
    return await work({ client, query: (statement) => run(client, statement) });
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw translateDatabaseError(error);
  } finally {
    client.off('error', ignore);
    client.release(failure);
  }
}

async function openSession(config: pg.ClientConfig): Promise<Session> {
  const client = new pg.Client(config);
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    await client.connect();
  } catch (error) {
    throw translateDatabaseError(error);
  }
  return {
    lost: lost.signal,
    query: (statement) => run(client, statement),
    onNotification: (handler) => client.on('notification', ({ payload }) => handler(payload ?? '')),
    async close() {
      lost.abort();
      // A connection that is broken already has nothing left to end.
      await client.end().catch(() => {});
    },
  };
}

async function run<R extends Row>(on: pg.Pool | pg.ClientBase, statement: Sql): Promise<R[]> {
  try {
    const { text, values } = statement;
    const result = await on.query<R>({ text, values, name: statementName(text) });
    return result.rows;
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** The SQLSTATE of an error that came from PostgreSQL, itself or as the cause of ours. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof pg.DatabaseError) return error.code;
  return sqlState(error.cause);
}

/** Statements are prepared under a name per text. Values never are part of a text, so there are few. */
function statementName(text: string): string {
  return hash('md5', text, 'base64url');
}

const int8 = 20;
const dateTypes = new Set([1082, 1114, 1184]);

/** bigint comes as a number (counts and bytes stay below 2^53), dates and times as their text. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8) return Number;
  if (dateTypes.has(oid)) return (value: string) => value;
  return pg.types.getTypeParser(oid, format);
}
