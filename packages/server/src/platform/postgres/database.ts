import { hash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { createGate } from '../../kernel/gate.ts';
import { encodeArray } from './array-text.ts';
import {
  databaseError,
  isPartitionMissing,
  mayTryAgain,
  sqlState,
  translateDatabaseError,
} from './errors.ts';
import { getTypeParser } from './parse-types.ts';
import { createSlowStatements, type SlowStatement } from './slow-statements.ts';
import { createTurns, type Turns } from './turns.ts';

type Row = Record<string, unknown>;

/** Whatever can run one statement: the pool, or the one connection of a transaction. */
export type Queryable = {
  /**
   * Runs a statement, which each connection prepares once for each text unless told otherwise. Throws an AppError such as
   * `database_unavailable`, `database_full`, `database_out_of_memory` or `query_timeout` when the database cannot answer
   * now.
   */
  query<R extends Row>(statement: Sql, options?: QueryOptions): Promise<R[]>;
};

type QueryOptions = {
  /** Plans the statement for these very values, instead of preparing it. */
  isPlannedAnew?: boolean;
};

export type Database = Queryable & {
  readonly pool: pg.Pool;
  /** Does `work` for this caller. Callers take turns for connections; see `turns.ts`. */
  as<T>(caller: string, work: () => T): T;
  /** How many wait for a connection. */
  waiting(): number;
  /**
   * Runs `work` in a transaction, which is rolled back when `work` throws. After a serialization failure, a deadlock or
   * a lock that was not obtained it is tried again, at most five times in all. So `work` must change nothing outside
   * the database.
   */
  transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options?: { isolation?: 'read committed' | 'repeatable read' },
  ): Promise<T>;
  /**
   * Lends a connection. If `work` throws, the connection is destroyed instead of being lent again, because nobody knows
   * what it is in the middle of.
   */
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

/**
 * A connection of the pool, lent to one caller. Its `client` is for what `query` cannot do: COPY, and statements that
 * must not be prepared.
 */
export type Connection = Queryable & {
  readonly client: pg.PoolClient;
  /**
   * Cancels what the connection is doing. Closing the connection alone would not do: its backend would keep the
   * snapshot until it next writes. The connection is not lent again, because a cancellation that arrives too late would
   * hit the next caller's statement.
   */
  cancel(): Promise<void>;
};

/** No short statement takes this long. The server gives up after the first time, and this process after the second. */
const statementMillis = 60_000;
const usualAnswerMillis = 70_000;
/** The `query_timeout` of a statement that may take as long as it needs. */
export const longestTimerMillis = 2 ** 31 - 1;
const lockMillis = 10_000;
const connectMillis = 10_000;
/**
 * A process that is frozen halfway keeps its locks no longer than this. The limit holds between two statements of a
 * transaction, and while the process does not read an answer.
 */
const frozenMillis = 60_000;
const usualStandbyMillis = 3000;
const sessionSilenceSeconds = 45;
/**
 * The pool closes a connection that nobody has used for so long. If the process is frozen the server does it instead, a
 * little later, and frees the locks.
 */
const unusedMillis = 60_000;

/**
 * What every connection has, whatever the server, the database, the role or the URL say. Some change what our SQL reads
 * and writes: `DateStyle` the text of a date, `array_nulls` what NULL in an array is.
 */
const settings = {
  client_encoding: 'UTF8',
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  default_transaction_isolation: 'read committed',
  // Compiling takes longer than these short statements do.
  jit: 'off',
  statement_timeout: `${statementMillis}ms`,
  lock_timeout: `${lockMillis}ms`,
  idle_in_transaction_session_timeout: `${frozenMillis}ms`,
  tcp_user_timeout: `${frozenMillis}ms`,
  idle_session_timeout: `${1.5 * unusedMillis}ms`,
};

/** Restores these limits after a statement that was allowed to take longer. RESET would restore those of the role. */
export const usualLimits = sql`select set_config('statement_timeout', ${settings.statement_timeout}, false),
  set_config('lock_timeout', ${settings.lock_timeout}, false)`;

/**
 * Opens a pool of connections. None is made before the first statement, so a database that does not answer is noticed
 * only then. `onError` is told about connections that break while nobody uses them.
 */
export function openDatabase(options: {
  url: string;
  maxConnections: number;
  onError: (error: Error) => void;
  answerMillis?: number;
  /** Statements that take so long are remembered; 0 or nothing: none. */
  slowMillis?: number;
  /**
   * How often waits for a standby are looked at. A wait is ended when it has lasted two to three times as long: sooner
   * than those give up who wait for its locks.
   */
  standbyMillis?: number | undefined;
}): Database {
  const sockets = new Set<Socket>();
  const slow = createSlowStatements(options.slowMillis ?? 0);
  const running = new Map<OwnClient, number>();
  const connection: OwnConfig = {
    onStatement: slow.observe,
    running,
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: options.url,
    application_name: `svcctl:${process.pid}`,
    connectionTimeoutMillis: connectMillis,
    keepAlive: true,
    // A server that hangs instead of dying would otherwise make this process hang too.
    query_timeout: options.answerMillis ?? usualAnswerMillis,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections,
    idleTimeoutMillis: unusedMillis,
    Client: OwnClient,
    verify: (client, settle) => void setUp(client).then(() => settle(), settle),
  });
  // This is a connection that breaks while it is idle. The pool drops it and makes another one when needed. It also hangs
  // the whole connection on the error, with the text of all its statements: 20 KB that no log should hold.
  pool.on('error', (error: Error & { client?: unknown }) => {
    delete error.client;
    options.onError(error);
  });

  const turns = createTurns({
    places: options.maxConnections,
    share: Math.max(1, Math.floor(options.maxConnections / 3)),
    patienceMillis: connectMillis,
  });
  const lender = { pool, turns };
  const { standbyMillis = usualStandbyMillis } = options;
  const stopWatching = endWaits(running, {
    connect: () => new OwnClient(connection),
    standbyMillis,
  });
  const database: Database = {
    pool,
    as: turns.as,
    waiting: turns.waiting,
    query: (statement, options) =>
      lend(lender, (connection) => connection.query(statement, options), { canGoOn: hasAnswered }),
    withConnection: (work) =>
      lend(lender, (connection) => turns.holding(() => work(connection)), { canGoOn: () => false }),
    async transaction(work, { isolation = 'read committed' } = {}) {
      const run = async (connection: Connection) => {
        await connection.client.query(`begin isolation level ${isolation}`);
        const result = await turns.holding(() => work(connection));
        await watched(connection.client, () => connection.client.query('commit'));
        return result;
      };
      for (let attempt = 1; ; attempt++) {
        try {
          return await lend(lender, run, { canGoOn: rollBack });
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
    listSlow: slow.list,
    close() {
      stopWatching();
      return pool.end();
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
  return database;
}

/** Where the server of a URL is, as the client reads it: host and port, or the path of a socket. Nothing secret. */
export function placeOf(url: string): string {
  const { host, port } = new pg.Client({ connectionString: url });
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
}

type OwnConfig = pg.ClientConfig & {
  /** Is told each statement, and how long its answer took. */
  onStatement?: (text: string, millis: number) => void;
  /** The connections that wait for an answer, and since when. */
  running?: Map<OwnClient, number>;
};

/**
 * A client that has a listener for errors from its birth to its end. PostgreSQL may end a connection at any moment,
 * even while nobody waits for an answer, and without a listener Node then ends the process. The pool listens only while
 * a connection is idle. Whoever uses a broken connection learns it from the statement that fails.
 */
class OwnClient extends pg.Client {
  readonly onStatement: OwnConfig['onStatement'];
  readonly running: OwnConfig['running'];
  /** The process that serves it. The `processID` of the protocol may be a number that a pooler has made up. */
  backendPid = 0;
  /** Whether the wait for a standby was ended: the statement then succeeds, though no standby may have what it wrote. */
  isUnconfirmed = false;

  constructor(config?: OwnConfig) {
    super(config);
    this.onStatement = config?.onStatement;
    this.running = config?.running;
    this.on('error', () => {});
    // Its text depends on the language of the server, the name of the function does not.
    this.on('notice', ({ routine }) => {
      this.isUnconfirmed ||= routine === 'SyncRepWaitForLSN';
    });
  }
}

/**
 * Awaits the answer to a statement or a commit. Throws `database_unavailable` when the server has ended the wait for its
 * standby: whether what was written survives the loss of the server is then unknown, so nobody may be told that it does.
 */
async function watched<T>(on: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  const client = on as OwnClient;
  client.isUnconfirmed = false;
  client.running?.set(client, performance.now());
  try {
    const result = await work();
    if (!client.isUnconfirmed) return result;
  } finally {
    client.running?.delete(client);
  }
  throw new AppError('database_unavailable', {
    detail:
      'The database waits for a standby that does not confirm what is written: svcctl doctor names it. It may be stored all the same. Try again in a few seconds.',
    retryAfterSeconds: 5,
  });
}

/**
 * Ends waits for a standby, which have no limit of their own: the statement time-out does not count there, and a backend
 * whose client has gone waits on, until the server has no connection left. A wait that two looks have found is ended. The
 * looks use a connection of their own, because those of the pool may all be waiting.
 */
function endWaits(
  running: ReadonlyMap<OwnClient, number>,
  { connect, standbyMillis }: { connect: () => pg.Client; standbyMillis: number },
): () => void {
  let isLooking = false;
  let found = new Map<number, number>();
  async function look(): Promise<void> {
    const longAgo = performance.now() - standbyMillis;
    const old = new Map(
      [...running].flatMap(([{ backendPid }, since]) =>
        since < longAgo ? [[backendPid, since]] : [],
      ),
    );
    if (old.size === 0) return;
    const client = connect();
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where pid = any ($1::int[]) and wait_event = 'SyncRep'`,
        [[...old.keys()]],
      );
      const before = found;
      found = new Map(rows.map(({ pid }) => [pid, old.get(pid) ?? 0]));
      for (const [pid, since] of found) {
        if (before.get(pid) === since) await client.query('select pg_cancel_backend($1)', [pid]);
      }
    } finally {
      await client.end();
    }
  }
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    // Who waits learns of a database that is away by its own statement.
    look()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, standbyMillis);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Gives a new connection its settings, by statements, because poolers do not pass start-up options on. Behind a pooler
 * it may have served another client before, who left statements, subscriptions and locks.
 */
async function setUp(
  client: pg.ClientBase,
  ownSettings: Record<string, string> = {},
): Promise<void> {
  const values = Object.entries({ ...settings, ...ownSettings }).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  const text = `deallocate all; unlisten *; select pg_advisory_unlock_all(); select ${values.join(', ')},
    -- Only PostgreSQL 17 and later have this limit.
    case when current_setting('transaction_timeout', true) <> '0' then set_config('transaction_timeout', '0', false) end,
    -- What is acknowledged is on the disk.
    case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', false) end,
    pg_backend_pid() as pid`;
  const results = await client.query({ text, query_timeout: connectMillis } as pg.QueryConfig);
  // One for each of the statements.
  const [row] = (results as unknown as pg.QueryResult<{ pid: number }>[]).at(-1)?.rows ?? [];
  (client as OwnClient).backendPid = row?.pid ?? 0;
}

/**
 * Lends a connection of the pool. When `work` fails, the connection goes back to the pool if `canGoOn` says so;
 * otherwise it is destroyed.
 */
async function lend<T>(
  { pool, turns }: { pool: pg.Pool; turns: Turns },
  work: (connection: Connection) => Promise<T>,
  options: { canGoOn: (client: pg.PoolClient, error: unknown) => boolean | Promise<boolean> },
): Promise<T> {
  const { client, giveBack } = await connectInTurn(pool, turns);
  let isSpent = false;
  const connection: Connection = {
    client,
    query: (statement, options) => run(client, statement, options),
    async cancel() {
      isSpent = true;
      const { backendPid } = client as unknown as OwnClient;
      await pool.query('select pg_cancel_backend($1::int)', [backendPid]);
    },
  };
  try {
    return await work(connection);
  } catch (error) {
    isSpent ||= !(await options.canGoOn(client, error));
    throw translateDatabaseError(error);
  } finally {
    client.release(isSpent);
    giveBack();
  }
}

async function connectInTurn(
  pool: pg.Pool,
  turns: Turns,
): Promise<{ client: pg.PoolClient; giveBack: () => void }> {
  let giveBack = () => {};
  try {
    giveBack = await turns.take();
    return { client: await pool.connect(), giveBack };
  } catch (error) {
    giveBack();
    throw translateDatabaseError(error);
  }
}

/** How long the server may take to undo what a transaction did. */
const rollbackMillis = 5000;

/** Returns whether the connection has left the failed transaction and can be lent to the next caller. */
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
 * A migration has made a statement that this connection prepared unusable: it is gone (26000), or its result would have
 * other columns (0A000). It would fail for as long as the connection lives.
 */
const staleStatements: ReadonlySet<string> = new Set(['26000', '0A000']);

/**
 * Returns whether the server has finished with what it was sent, because it refused the statement or because the fault
 * has nothing to do with the database. It has not when an answer took too long, a COPY was cut halfway or the
 * connection broke.
 */
function hasAnswered(client: pg.PoolClient, error: unknown): boolean {
  const refusal = databaseError(error);
  // The server says that it is ready for the next statement only a moment after it has refused one, so `readyForQuery`
  // cannot be asked here.
  if (refusal !== undefined) {
    const isStale = staleStatements.has(refusal.code ?? '') || isPartitionMissing(refusal);
    return refusal.severity === 'ERROR' && !isStale;
  }
  return (client as unknown as { readyForQuery?: boolean }).readyForQuery === true;
}

async function openSession(config: OwnConfig, silenceSeconds: number): Promise<Session> {
  const client = new OwnClient(config);
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    await client.connect();
    await setUp(client, endsWhenSilent(silenceSeconds));
  } catch (error) {
    await client.end().catch(() => {});
    throw translateDatabaseError(error);
  }
  // Several callers may share a session, and a client takes one statement at a time.
  const turns = createGate(1);
  let isBeating = false;
  const beat = setInterval(() => {
    if (isBeating) return;
    isBeating = true;
    const onAnswer = () => {
      isBeating = false;
    };
    // Nobody knows whether a session that does not answer still has its locks, so it counts as lost.
    client.query('select 1').then(onAnswer, () => lost.abort());
  }, silenceSeconds * 250);
  beat.unref();
  lost.signal.addEventListener('abort', () => clearInterval(beat), { once: true });
  return {
    lost: lost.signal,
    async query(statement, options) {
      try {
        return await turns.run(() => run(client, statement, options));
      } catch (error) {
        // The statement would fail for as long as the session lives, so its owner is to open another.
        if (staleStatements.has(sqlState(error) ?? '')) lost.abort();
        throw error;
      }
    },
    onNotification: (handler) => client.on('notification', ({ payload }) => handler(payload ?? '')),
    async close() {
      lost.abort();
      // Ending a connection that is already broken fails, and there is nothing left to end.
      await client.end().catch(() => {});
    },
  };
}

/**
 * Makes the server end a session that is silent. The server's clock decides, so it does not matter what the process
 * does. Keep-alives find a machine that is gone sooner.
 */
function endsWhenSilent(silenceSeconds: number): Record<string, string> {
  return {
    idle_session_timeout: `${Math.ceil(silenceSeconds * 1000)}ms`,
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  };
}

async function run<R extends Row>(
  on: pg.ClientBase,
  { text, values }: Sql,
  { isPlannedAnew = false }: QueryOptions = {},
): Promise<R[]> {
  const startedAt = performance.now();
  try {
    const name = isPlannedAnew ? {} : { name: statementName(text) };
    const encoded = values.map(encodeArray);
    const result = await watched(on, () => on.query<R>({ text, values: encoded, ...name }));
    return result.rows;
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    (on as OwnClient).onStatement?.(text, performance.now() - startedAt);
  }
}

/**
 * Returns the name under which a statement is prepared; it follows from the text. Values are never part of a text, so
 * there are few names.
 */
function statementName(text: string): string {
  return hash('md5', text, 'base64url');
}
