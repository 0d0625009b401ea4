import pg from 'pg';
import { AppError } from '../../kernel/errors.ts';

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
export function translateDatabaseError(error: unknown): unknown {
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
