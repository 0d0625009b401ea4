import type pg from 'pg';
import type { Sql } from 'sql-template-tag';
import type { SlowStatement } from './slow-statements.ts';

/** A row, its values by the names of their columns. */
export type Row = Record<string, unknown>;

/** The connection of a transaction without `statement_timeout`: each answer is awaited for as long as it takes. */
export function withLongAnswers(connection: Connection): Connection {
  const query: Connection['query'] = (statement, options) =>
    connection.query(statement, { ...options, isLong: true });
  return { ...connection, query };
}

/**
 * Cancels the statement under way when the signal aborts, whose reason is then thrown: a statement may take minutes, and
 * a stop does not wait for it.
 */
export async function cancelling<T>(
  connection: Connection,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const cancel = () => void connection.cancel().catch(() => {});
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    return await work();
  } finally {
    signal?.removeEventListener('abort', cancel);
    signal?.throwIfAborted();
  }
}

/** The row of a statement that always answers one, as sums do, and what is inserted. */
export function onlyRow<R>([row]: readonly R[]): R {
  if (row === undefined) throw new Error('a statement answered no row');
  return row;
}

/** Whatever can run one statement: the pool, or the one connection of a transaction. */
export type Queryable = {
  /**
   * Runs a statement, which each connection prepares once for each text unless told otherwise. Throws an AppError such as
   * `database_unavailable`, `database_full`, `database_out_of_memory` or `query_timeout` when the database cannot answer
   * now.
   */
  query<R extends Row>(statement: Sql, options?: QueryOptions): Promise<R[]>;
};

export type QueryOptions = {
  /** Plans the statement for these very values, instead of preparing it. */
  isPlannedAnew?: boolean;
  /** Awaits the answer for as long as it takes. The server's own limit is the transaction's `statement_timeout`. */
  isLong?: boolean;
  /** Awaits the answer no longer than this. A connection that has not answered by then is closed, not given back. */
  answerMillis?: number;
};

export type Database = Queryable & {
  readonly pool: pg.Pool;
  /** Does `work` for this caller, or for the process itself (''). Callers take turns for connections; see `turns.ts`. */
  readonly as: <T>(caller: string, work: () => T) => T;
  /** How many wait for a connection. */
  waiting(): number;
  /**
   * Runs `work` in a transaction, which is rolled back when `work` throws. After a serialization failure, a deadlock or
   * a lock that was not obtained it is tried again, at most five times in all, unless the caller does that by itself. So
   * `work` must change nothing outside the database.
   */
  transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options?: { isolation?: 'read committed' | 'repeatable read'; isTriedOnce?: boolean },
  ): Promise<T>;
  /** Lends a connection, and destroys it if `work` throws: nobody knows what it is in the middle of. */
  withConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Opens a connection outside the pool, for what lives as long as a connection does: locks and notifications. The
   * server ends the connection when its process has said nothing for `silenceSeconds` (45 by default), so that a
   * process that is frozen, or whose machine is gone, keeps its locks no longer than that. An answer is awaited for
   * `answerMillis`, or as long as on any other connection.
   */
  openSession(options?: { silenceSeconds?: number; answerMillis?: number }): Promise<Session>;
  /** The statements of this process that took long; see `slowMillis`. */
  listSlow(): SlowStatement[];
  close(): Promise<void>;
  /** Breaks every connection, those of sessions included. Whoever waits for an answer gets an error instead. */
  cut(): void;
};

/** A connection of its own. Its advisory locks and its subscription to notifications end with it. */
export type Session = Queryable & {
  /** Aborts when the connection is lost or closed. */
  readonly lost: AbortSignal;
  onNotification(handler: (payload: string) => void): void;
  close(): Promise<void>;
};

/** A connection lent to one caller. `client` is for what `query` cannot do: COPY, and what must not be prepared. */
export type Connection = Queryable & {
  readonly client: pg.PoolClient;
  /**
   * Cancels what the connection is doing. Closing the connection alone would not do: its backend would keep the
   * snapshot until it next writes. The connection is not lent again, because a cancellation that arrives too late would
   * hit the next caller's statement.
   */
  cancel(): Promise<void>;
};
