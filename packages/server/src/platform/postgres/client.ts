import { hash } from 'node:crypto';
import pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import type { QueryOptions, Row } from './database.ts';
import { translateDatabaseError } from './errors.ts';

export type OwnConfig = pg.ClientConfig & {
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
export class OwnClient extends pg.Client {
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

/** No short statement takes this long. The server gives up after the first time, and this process after the second. */
const statementMillis = 60_000;
export const usualAnswerMillis = 70_000;
/** The `query_timeout` of a statement that may take as long as it needs. */
export const longestTimerMillis = 2 ** 31 - 1;
const lockMillis = 10_000;
export const connectMillis = 10_000;
/** A frozen process keeps its locks no longer: holds within a transaction, and while an answer is not read. */
const frozenMillis = 60_000;
/** The pool closes a connection unused for so long; of a frozen process the server does, a little later. */
export const unusedMillis = 60_000;

/** What every connection has. Some settings change what our SQL reads and writes, as `DateStyle` does dates. */
const settings = {
  client_encoding: 'UTF8',
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  // `isUnconfirmed` learns of its fault by a warning.
  client_min_messages: 'warning',
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
 * Gives a new connection its settings, by statements, because poolers do not pass start-up options on. Behind a pooler
 * it may have served another client before, who left statements, subscriptions and locks.
 */
export async function setUp(
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

/** Runs a statement, which is prepared under a name unless it is planned anew. */
export async function runStatement<R extends Row>(
  on: pg.ClientBase,
  { text, values }: Sql,
  { isPlannedAnew = false, isLong = false, answerMillis }: QueryOptions = {},
): Promise<R[]> {
  const startedAt = performance.now();
  try {
    const name = isPlannedAnew ? {} : { name: statementName(text) };
    const limitMillis = isLong ? longestTimerMillis : answerMillis;
    const limit = limitMillis === undefined ? {} : { query_timeout: limitMillis };
    const asked = { text, values: values.map(encodeArray), ...name, ...limit };
    const result = await awaitAnswer(on, () => on.query<R>(asked));
    return result.rows;
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    (on as OwnClient).onStatement?.(text, performance.now() - startedAt);
  }
}

/**
 * Awaits the answer to a statement or a commit. Throws `database_unavailable` when the server has ended the wait for its
 * standby: whether what was written survives the loss of the server is then unknown, so nobody may be told that it does.
 */
async function awaitAnswer<T>(on: pg.ClientBase, work: () => Promise<T>): Promise<T> {
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

/** Commits the transaction of a connection. Throws `database_unavailable` when no standby has confirmed it. */
export async function commit(on: pg.ClientBase): Promise<void> {
  await awaitAnswer(on, () => on.query('commit'));
}

/** The name under which a statement is prepared, from its text. Values are never in a text, so names are few. */
function statementName(text: string): string {
  return hash('md5', text, 'base64url');
}

/**
 * A migration has made a statement that this connection prepared unusable: it is gone (26000), or its result would have
 * other columns (0A000). It would fail for as long as the connection lives.
 */
export const staleStatements: ReadonlySet<string> = new Set(['26000', '0A000']);

/**
 * Returns an array as PostgreSQL reads it from text, or the value itself if it is no array of plain values. The driver's
 * own encoding takes ten times as long: it escapes each text twice, whether or not it needs it, and adds it to a string
 * that grows. Ten thousand records are a hundred thousand such texts.
 */
export function encodeArray(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const elements: string[] = [];
  for (const element of value) {
    const text = encodeElement(element);
    if (text === null) return value;
    elements.push(text);
  }
  return `{${elements.join(',')}}`;
}

const special = /["\\]/;
const specials = /["\\]/g;

/** Returns null for what is left to the driver. */
function encodeElement(element: unknown): string | null {
  if (element === null || element === undefined) return 'NULL';
  if (typeof element === 'string') {
    return special.test(element) ? `"${element.replace(specials, '\\$&')}"` : `"${element}"`;
  }
  if (Buffer.isBuffer(element)) return `"\\\\x${element.toString('hex')}"`;
  const isPlain =
    typeof element === 'number' || typeof element === 'bigint' || typeof element === 'boolean';
  return isPlain ? String(element) : null;
}
