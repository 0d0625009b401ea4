import { AppError } from '../../kernel/errors.ts';
import { DuckDbError } from '../duckdb.ts';
import { fromFileSystem, isDiskFault, isObjectFault, storeUnavailable } from './objects.ts';

const advice: Readonly<Record<string, string>> = {
  AccessDenied: 'Let the credentials list the bucket and read, write and remove its objects.',
  Forbidden: 'Let the credentials list the bucket and read, write and remove its objects.',
  InvalidAccessKeyId: 'Check the access key that the service runs with.',
  XAdminUserNotFound: 'Check the access key that the service runs with.',
  SignatureDoesNotMatch: 'Check the secret key, the region and the clock of this machine.',
  // The SDK goes by the clock of the store, so this is said only where an answer has no time, or a wrong one.
  RequestTimeTooSkewed: 'Set the clocks of this machine and of the store.',
  CredentialsProviderError: 'Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.',
  NoSuchBucket: 'Make the bucket, or correct SVC_BLOB_URL.',
  // So the SDK calls a 404 that has no code of S3.
  NotFound: 'Check the endpoint in SVC_BLOB_URL: what answers there is no S3.',
  PermanentRedirect: 'Correct the region in SVC_BLOB_URL.',
  AuthorizationHeaderMalformed: 'Correct the region in SVC_BLOB_URL.',
  XMinioStorageFull: 'Free some space in the store.',
  QuotaExceeded: 'Raise the quota, or free some space in the store.',
};

/**
 * Makes what SDK, network or disk said a 503 whose detail holds the code. AppError and object faults stay as they are.
 */
export function fromS3(error: unknown, what: string): unknown {
  if (error instanceof AppError || isObjectFault(error)) return error;
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  if (isDiskFault(first)) return fromFileSystem(first, what);
  const code = codeOf(first);
  const next = regionAdvice(first, code) ?? advice[code];
  return storeUnavailable(what, `the store says ${code}`, {
    cause: error,
    ...(next === undefined ? {} : { advice: next }),
  });
}

/** Names the region that the store wants, where it says so. */
function regionAdvice(error: unknown, code: string): string | undefined {
  if (code !== 'AuthorizationHeaderMalformed' || !(error instanceof Error)) return undefined;
  const [, region] = /expecting ["']?([a-z0-9-]+)/.exec(error.message) ?? [];
  return region && `Correct the region in SVC_BLOB_URL: it is ${region}.`;
}

const fullCodes = new Set([
  'ENOSPC',
  'EDQUOT',
  'XMinioStorageFull',
  'QuotaExceeded',
  'InsufficientCapacity',
  'HTTP 507',
]);

/** Returns whether a store's 503 says that the store has no room. Trying again is useless until somebody makes room. */
export function isStoreFull(error: unknown): boolean {
  if (!(error instanceof AppError) || error.code !== 'cold_tier_unavailable') return false;
  const { cause } = error;
  return fullCodes.has(codeOf(cause instanceof AggregateError ? cause.errors[0] : cause));
}

/**
 * Returns whether an error says that the store does not answer as it should, and may do so later: it is overloaded, cut
 * off, being restarted. Where somebody must do something first (no permission, no room, no such bucket), waiting does not
 * help.
 */
export function mayPass(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  // What a place of backups or of deliveries says has the error of its store as the cause.
  if (['backup_place_unavailable', 'export_target_unusable'].includes(error.code)) {
    return mayPass(error.cause);
  }
  if (error.code !== 'cold_tier_unavailable') return false;
  const cause = error.cause instanceof AggregateError ? error.cause.errors[0] : error.cause;
  const status = statusOf(cause);
  const isRefused = status === 401 || status === 403 || Object.hasOwn(advice, codeOf(cause));
  return (
    !isRefused && !isStoreFull(error) && !isDiskFault(cause) && !(cause instanceof DuckDbError)
  );
}

/**
 * Returns whether S3 said that this object does not exist. It must say so by name: servers also answer 404 where there
 * is no such bucket or user (versitygw), and a proxy does where it knows no such path. None of that may look as if
 * objects were lost. Ask this only of errors whose answers have a body, which those to a HEAD have not.
 */
export function isMissingKey(error: unknown): boolean {
  return statusOf(error) === 404 && codeOf(error) === 'NoSuchKey';
}

/** Returns the HTTP status that the store answered with; undefined when no answer came. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode;
}

/** Returns the code of S3, such as `SlowDown`, or otherwise the code of the network, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (statusOf(error) !== undefined && !/^(Error|UnknownError|Unknown)$/.test(error.name)) {
    return error.name;
  }
  if ('code' in error && typeof error.code === 'string') return error.code;
  const status = statusOf(error);
  return status === undefined ? error.name : `HTTP ${status}`;
}
