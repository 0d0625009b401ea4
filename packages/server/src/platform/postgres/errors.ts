import pg from 'pg';
import { AppError } from '../../kernel/errors.ts';

/** The SQLSTATE of an error that is, or was caused by, one of PostgreSQL; undefined for others. */
export function sqlState(error: unknown): string | undefined {
  return databaseError(error)?.code;
}

/** The error of PostgreSQL that this is, or that it was caused by. */
export function databaseError(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error;
  return error instanceof Error ? databaseError(error.cause) : undefined;
}

/**
 * Whether a row found no partition, which PostgreSQL tells by the code of a check that fails. A session says so also of a
 * partition that is there, if another attached it while the session was reading which there are: it believes what it has
 * read until it is told of the next change. So the statement is to be sent again over another connection.
 */
export function isPartitionMissing(error: unknown): boolean {
  const refusal = databaseError(error);
  return refusal?.code === '23514' && refusal.constraint === undefined;
}

/** These are serialization failure, deadlock and lock not available. */
const retriedCodes = new Set(['40001', '40P01', '55P03']);

/** Whether work that another transaction made fail should be tried again after this attempt, counted from 1. */
export function mayTryAgain(error: unknown, attempt: number): boolean {
  return attempt < 5 && retriedCodes.has(sqlState(error) ?? '');
}

/** What Citus says, under a code of no meaning, when a worker dies: something of its own, or the last words of the worker. */
const lostWorker =
  /^(failure on connection marked as essential|terminating connection|server closed the connection)/;
// The meaning of each code: https://www.postgresql.org/docs/current/errcodes-appendix.html
const unavailableCodes = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300']);
/** These mean that no connection is given: wrong user or password, no such database. Only a start ends because of it. */
const refusedCodes = new Set(['28000', '28P01', '3D000']);
/** These mean: cancelled, lock not available, and serialization failures and deadlocks in every attempt. */
const timeoutCodes = new Set(['57014', '55P03', '40001', '40P01']);
const readOnly = '25006';
const fullCodes = new Set(['53100', '53000']);
/** PostgreSQL says so of its memory, and of its table of locks, which all sessions share. */
const outOfMemory = '53200';
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
  // The same of a connection outside a pool.
  'timeout expired',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Query read timeout',
];

/** Makes an AppError of a database fault that will pass. Others are returned as they came (`internal_error`). */
export function translateDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error instanceof pg.DatabaseError) {
    if (unavailableCodes.has(code) || refusedCodes.has(code) || code.startsWith('08')) {
      return unavailable(error);
    }
    if (lostWorker.test(error.message)) return unavailable(error);
    // It accepts no connections for a while, as while it is being cloned, or none of this role.
    if (error.severity === 'FATAL') return fullCodes.has(code) ? full(error) : unavailable(error);
    if (fullCodes.has(code)) {
      return new AppError('database_full', { retryAfterSeconds: 30, cause: error });
    }
    if (code === readOnly) {
      return new AppError('read_only', {
        detail:
          'The database only reads at the moment: it is a standby, or was made read only, as servers are whose disk is full. Nothing was written. Try again when it writes again.',
        retryAfterSeconds: 5,
        cause: error,
      });
    }
    if (code === outOfMemory) {
      return new AppError('database_out_of_memory', {
        detail:
          'The database has no memory left for this, or no room in its table of locks. Try again in a few seconds. If it goes on, raise max_locks_per_transaction of PostgreSQL, or its memory.',
        retryAfterSeconds: 5,
        cause: error,
      });
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
    networkCodes.has(code) ||
    ('syscall' in error && error.syscall === 'connect') ||
    clientMessages.some((message) => error.message.includes(message));
  return isNetwork ? unavailable(error) : error;
}

/** A connection that a full disk refuses is waited for as any other, and its reason told. */
function full(cause: Error): AppError {
  return new AppError('database_unavailable', {
    detail:
      'The database gives no connection, because its disk is full. Make room there; then it goes on by itself.',
    retryAfterSeconds: 30,
    cause,
  });
}

function unavailable(cause: Error): AppError {
  return new AppError('database_unavailable', {
    detail: 'The database cannot be reached at the moment. Try again in a second.',
    retryAfterSeconds: 1,
    cause,
  });
}

const faultWords: readonly [RegExp, string][] = [
  [/ECONNREFUSED/, 'nothing listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'its name cannot be looked up'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way to it'],
  [/ENOENT/, 'there is no such socket'],
  [
    /ETIMEDOUT|timeout exceeded when trying to connect|timeout expired|connection timeout/,
    'it does not answer',
  ],
];

/** Says in words why a connection failed. A name of several addresses fails with an error for each of them. */
export function describeFault(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0)
    return describeFault(cause.errors[0]);
  const text = cause instanceof Error ? cause.message : String(cause);
  const words = faultWords.find(([sign]) => sign.test(text))?.[1];
  return words === undefined ? text : `${words} (${text})`;
}
