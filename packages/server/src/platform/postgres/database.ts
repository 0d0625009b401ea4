import { hash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Sql } from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';

type Row = Record<string, unknown>;

/** Whatever runs one statement: the pool, or the one connection of a transaction. */
export type Queryable = {
  /** Runs a statement, prepared once per connection and text. Throws AppError `database_*`. */
  query<R extends Row>(statement: Sql): Promise<R[]>;
};

export type Database = Queryable & {
  readonly pool: pg.Pool;
  /**
   * Runs `work` in a transaction, undone when `work` throws. Serialization failures, deadlocks and locks
   * not got are tried again, up to five times: `work` must change nothing outside the database.
   */
  transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options?: { isolation?: 'read committed' | 'repeatable read' },
  ): Promise<T>;
  /**
   * Lends a connection. If `work` throws, the connection is destroyed rather than handed to the next
   * caller: nobody knows what it is in the middle of.
   */
  withConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Opens a connection outside the pool, for what lives as long as a connection: locks, notifications. The
   * server ends it once its process has said nothing for `silenceSeconds`, 45 unless told otherwise, so that
   * one that is frozen, or whose machine is gone, keeps its locks no longer than that. An answer is waited for
   * as long as usual, or `answerMillis`.
   */
  openSession(options?: { silenceSeconds?: number; answerMillis?: number }): Promise<Session>;
  close(): Promise<void>;
  /** Breaks every connection, also of sessions: whoever waits for an answer gets an error instead. */
  cut(): void;
};

/** A connection of its own. Its advisory locks and its listening end with it. */
export type Session = Queryable & {
  /** Aborted when the connection is lost or closed. */
  readonly lost: AbortSignal;
  onNotification(handler: (payload: string) => void): void;
  close(): Promise<void>;
};

export type Connection = Queryable & {
  readonly client: pg.PoolClient;
  /**
   * Ends what the connection is doing: dropping it alone would leave its backend holding the snapshot until
   * it next writes. It is not lent again, as what is cancelled too late would be the next caller's.
   */
  cancel(): Promise<void>;
};

/** Serialization failure, deadlock, lock not available. */
const retriedCodes = new Set(['40001', '40P01', '55P03']);

/** Whether what failed for the sake of another transaction is to be tried again. */
export function mayTryAgain(error: unknown, attempt: number): boolean {
  return attempt < 5 && retriedCodes.has(sqlState(error) ?? '');
}

/** What no short statement takes: the server gives up after the first, we after the second. */
const statementMillis = 60_000;
const usualAnswerMillis = 70_000;
/** As `query_timeout` of what may take as long as it takes. */
export const longestTimerMillis = 2 ** 31 - 1;
const lockMillis = 10_000;
/**
 * A process that is frozen half-way keeps what it has locked no longer than this: between two statements of
 * a transaction, and while it does not read the answer to one.
 */
const frozenMillis = 60_000;
const sessionSilenceSeconds = 45;
/** The pool closes what nobody has used for so long; of a frozen process the server does, and its locks go too. */
const unusedMillis = 60_000;

export function openDatabase(options: {
  url: string;
  maxConnections: number;
  onError: (error: Error) => void;
  answerMillis?: number;
}): Database {
  const sockets = new Set<Socket>();
  const connection: pg.ClientConfig = {
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: options.url,
    application_name: `svcctl:${process.pid}`,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // Compiling costs more than these short statements take.
    options: `-c timezone=UTC -c datestyle=ISO -c jit=off -c statement_timeout=${statementMillis} -c lock_timeout=${lockMillis} -c idle_in_transaction_session_timeout=${frozenMillis} -c tcp_user_timeout=${frozenMillis} -c idle_session_timeout=${1.5 * unusedMillis}`,
    // A server that hangs rather than dies would hang us with it.
    query_timeout: options.answerMillis ?? usualAnswerMillis,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections,
    idleTimeoutMillis: unusedMillis,
    Client: HeardClient,
  });
  // A connection that breaks while idle: the pool drops it and makes another.
  pool.on('error', options.onError);

  const database: Database = {
    pool,
    query: (statement) =>
      lend(pool, (connection) => connection.query(statement), { canGoOn: hasAnswered }),
    withConnection: (work) => lend(pool, work, { canGoOn: () => false }),
    async transaction(work, { isolation = 'read committed' } = {}) {
      const run = async (connection: Connection) => {
        await connection.client.query(`begin isolation level ${isolation}`);
        const result = await work(connection);
        await connection.client.query('commit');
        return result;
      };
      for (let attempt = 1; ; attempt++) {
        try {
          return await lend(pool, run, { canGoOn: rollBack });
        } catch (error) {
          if (!mayTryAgain(error, attempt)) throw error;
        }
      }
    },
    openSession: ({ silenceSeconds = sessionSilenceSeconds, answerMillis } = {}) =>
      openSession(
        answerMillis === undefined ? connection : { ...connection, query_timeout: answerMillis },
        silenceSeconds,
      ),
    close: () => pool.end(),
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
  return database;
}

/**
 * A client whose errors are heard from its birth to its end. PostgreSQL may end a connection at any moment,
 * also while nobody waits for an answer: without a listener, Node ends the process. The pool listens while
 * a connection is idle only. Whoever uses a broken connection is told by the statement that fails.
 */
class HeardClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => {});
  }
}

/** Lends a connection. When `work` fails it goes back to the pool if `canGoOn` says so, else it is destroyed. */
async function lend<T>(
  pool: pg.Pool,
  work: (connection: Connection) => Promise<T>,
  options: { canGoOn: (client: pg.PoolClient, error: unknown) => boolean | Promise<boolean> },
): Promise<T> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translateDatabaseError(error);
  }
  let isSpent = false;
  const connection: Connection = {
    client,
    query: (statement) => run(client, statement),
    async cancel() {
      isSpent = true;
      const { processID } = client as unknown as { processID: number };
      await pool.query('select pg_cancel_backend($1)', [processID]);
    },
  };
  try {
    return await work(connection);
  } catch (error) {
    isSpent ||= !(await options.canGoOn(client, error));
    throw translateDatabaseError(error);
  } finally {
    client.release(isSpent);
  }
}

/** How long the server may take to undo what a transaction did. */
const rollbackMillis = 5000;

/** Whether the connection has left the transaction that failed, and can be lent to the next. */
async function rollBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
  if (!hasAnswered(client, error)) return false;
  try {
    await client.query({ text: 'rollback', query_timeout: rollbackMillis } as pg.QueryConfig);
    return true;
  } catch {
    return false;
  }
}

/**
 * A statement that this connection prepared is gone (26000), or answers other columns than it did (0A000), since
 * a migration ran: it would fail for as long as the connection lives.
 */
const staleStatements: ReadonlySet<string> = new Set(['26000', '0A000']);

/**
 * Whether the server has ended what it was sent: it refused it, or the fault is none of the database. Not
 * so when an answer took too long, a COPY was cut half-way, or the connection broke.
 */
function hasAnswered(client: pg.PoolClient, error: unknown): boolean {
  const refusal = databaseError(error);
  // The server says that it is ready a moment after it refused something.
  if (refusal !== undefined) {
    return refusal.severity === 'ERROR' && !staleStatements.has(refusal.code ?? '');
  }
  return (client as unknown as { readyForQuery?: boolean }).readyForQuery === true;
}

async function openSession(config: pg.ClientConfig, silenceSeconds: number): Promise<Session> {
  const client = new HeardClient(config);
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    await client.connect();
    await endWhenSilent(client, silenceSeconds);
  } catch (error) {
    await client.end().catch(() => {});
    throw translateDatabaseError(error);
  }
  let isBeating = false;
  const beat = setInterval(() => {
    if (isBeating) return;
    isBeating = true;
    const onAnswer = () => {
      isBeating = false;
    };
    // Nobody knows whether a session that does not answer still has its locks.
    client.query('select 1').then(onAnswer, () => lost.abort());
  }, silenceSeconds * 250);
  beat.unref();
  lost.signal.addEventListener('abort', () => clearInterval(beat), { once: true });
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

/**
 * By the server's clock, so that it does not matter what the process does; said by a statement, as poolers
 * don't pass options on. Keep-alives find a machine that is gone sooner.
 */
async function endWhenSilent(client: pg.Client, silenceSeconds: number): Promise<void> {
  await client.query(
    `select set_config('idle_session_timeout', $1, false), set_config('tcp_keepalives_idle', '5', false),
      set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false)`,
    [`${Math.ceil(silenceSeconds * 1000)}ms`],
  );
}

async function run<R extends Row>(on: pg.ClientBase, statement: Sql): Promise<R[]> {
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
  return databaseError(error)?.code;
}

function databaseError(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error;
  return error instanceof Error ? databaseError(error.cause) : undefined;
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

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const unavailableCodes = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300', '25006']);
/** Cancelled, lock not available; serialization failures and deadlocks that came again and again. */
const timeoutCodes = new Set(['57014', '55P03', '40001', '40P01']);
const fullCodes = new Set(['53100', '53200', '53000']);
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);
const clientMessages = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Query read timeout',
];

/**
 * Makes a passing fault of the database an AppError that tells the caller to come back; anything else
 * is returned as it came, and ends as `internal_error`.
 */
function translateDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error instanceof pg.DatabaseError) {
    if (unavailableCodes.has(code) || code.startsWith('08')) return unavailable(error);
    // A database that is closed for a while, as while it is cloned.
    if (code === '55000' && error.severity === 'FATAL') return unavailable(error);
    if (fullCodes.has(code)) {
      return new AppError('database_full', { retryAfterSeconds: 30, cause: error });
    }
    if (code.startsWith('22')) {
      return new AppError('request_invalid', {
        detail: 'A value of the request is not one that the database can take.',
        cause: error,
      });
    }
    if (timeoutCodes.has(code)) {
      return new AppError('query_timeout', { retryAfterSeconds: 5, cause: error });
    }
    return error;
  }
  const isNetwork =
    networkCodes.has(code) || clientMessages.some((message) => error.message.includes(message));
  return isNetwork ? unavailable(error) : error;
}

function unavailable(cause: Error): AppError {
  return new AppError('database_unavailable', {
    detail: 'The database cannot be reached at the moment. Try again in a second.',
    retryAfterSeconds: 1,
    cause,
  });
}
