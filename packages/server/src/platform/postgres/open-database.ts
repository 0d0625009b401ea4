import { Socket } from 'node:net';
import pg from 'pg';
import { createGate } from '../../kernel/gate.ts';
import {
  commit,
  connectMillis,
  OwnClient,
  type OwnConfig,
  runStatement,
  setUp,
  staleStatements,
  unusedMillis,
  usualAnswerMillis,
} from './client.ts';
import type { Connection, Database, Session } from './database.ts';
import {
  databaseError,
  isPartitionMissing,
  mayTryAgain,
  sqlState,
  translateDatabaseError,
} from './errors.ts';
import { createSlowStatements } from './slow-statements.ts';
import { createTurns, type Turns } from './turns.ts';

const sessionSilenceSeconds = 45;
const usualStandbyMillis = 3000;

/** While others call, a caller has 1 in 8 places: 3 of 24. With 8, another's page took twice as long on two cores. */
const placesPerShare = 8;

/** Opens a pool, without a connection yet. `onError` is told of those that break while nobody uses them. */
export function openDatabase(options: {
  url: string;
  maxConnections: number;
  onError: (error: Error) => void;
  answerMillis?: number;
  /** Statements that take so long are remembered; 0 or nothing: none. */
  slowMillis?: number;
  /** How often waits for a standby are looked at: they end after 2 to 3 times that, before those behind give up. */
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
    share: Math.max(1, Math.floor(options.maxConnections / placesPerShare)),
    patienceMillis: connectMillis,
  });
  const lender = { pool, turns };
  const { standbyMillis = usualStandbyMillis } = options;
  const stopWatching = endStandbyWaits(running, {
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
    async transaction(work, { isolation = 'read committed', isTriedOnce = false } = {}) {
      const run = async (connection: Connection) => {
        await connection.client.query(`begin isolation level ${isolation}`);
        const result = await turns.holding(() => work(connection));
        await commit(connection.client);
        return result;
      };
      for (let attempt = 1; ; attempt++) {
        try {
          return await lend(lender, run, { canGoOn: rollBack });
        } catch (error) {
          if (isTriedOnce || !mayTryAgain(error, attempt)) throw error;
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

/** Lends a connection. When `work` fails it goes back to the pool if `canGoOn` says so; else it is destroyed. */
async function lend<T>(
  { pool, turns }: { pool: pg.Pool; turns: Turns },
  work: (connection: Connection) => Promise<T>,
  options: { canGoOn: (client: pg.PoolClient, error: unknown) => boolean | Promise<boolean> },
): Promise<T> {
  const { client, giveBack } = await connectInTurn(pool, turns);
  let isSpent = false;
  const connection: Connection = {
    client,
    query: (statement, options) => runStatement(client, statement, options),
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

/** Where the server of a URL is, as the client reads it: host and port, or the path of a socket. Nothing secret. */
export function placeOf(url: string): string {
  const { host, port } = new pg.Client({ connectionString: url });
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
}

/** Which database it is and where, without its user and password. */
export function databaseOf(url: string): string {
  return `${new pg.Client({ connectionString: url }).database} at ${placeOf(url)}`;
}

const int8 = 20;
const dateTypes = new Set([1082, 1114, 1184]);

/** Makes numbers of bigints, as counts and sizes stay below 2^53, and keeps dates and times as PostgreSQL's text. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8) return Number;
  if (dateTypes.has(oid)) return (value: string) => value;
  return pg.types.getTypeParser(oid, format);
}

/** Opens a connection outside the pool; see `openSession` of `Database`. */
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
        return await turns.run(() => runStatement(client, statement, options));
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

/** Has the server end a silent session, by its own clock. Keep-alives find a machine that is gone sooner. */
function endsWhenSilent(silenceSeconds: number): Record<string, string> {
  return {
    idle_session_timeout: `${Math.ceil(silenceSeconds * 1000)}ms`,
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  };
}

/**
 * Ends waits for a standby, which have no limit of their own: the statement time-out does not count there, and a backend
 * whose client has gone waits on, until the server has no connection left. A wait that two looks have found is ended. The
 * looks use a connection of their own, because those of the pool may all be waiting.
 */
function endStandbyWaits(
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
