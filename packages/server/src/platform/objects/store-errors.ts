import { AppError } from '../../kernel/errors.ts';

/** The 503 of a store: what could not be done, where, why, and what to do about it. */
export function storeUnavailable(
  what: string,
  why: string,
  options: { advice?: string; cause?: unknown } = {},
): AppError {
  return new AppError('cold_tier_unavailable', {
    detail: `${what}: ${why}. ${options.advice ?? 'Try again in a few seconds.'}`,
    retryAfterSeconds: 5,
    cause: options.cause,
  });
}

const telling: Readonly<Record<string, readonly [why: string, advice: string]>> = {
  ENOSPC: [
    'no space is left (ENOSPC)',
    'Free some space, or point SVC_BLOB_URL to a larger store.',
  ],
  EDQUOT: ['the disk quota is used up (EDQUOT)', 'Raise the quota, or free some space.'],
  EIO: ['the disk answers with errors (EIO)', 'Check the disk and its log.'],
  EROFS: ['the file system is read-only (EROFS)', 'Mount it writable.'],
  EACCES: ['the service lacks the permission (EACCES)', 'Give its user access to the folder.'],
};

/** What a file system said, as a 503; anything that it did not say, such as an abort, unchanged. */
export function fromFileSystem(error: unknown, what: string): unknown {
  const code = systemCode(error);
  if (code === null) return error;
  const [why, advice] = telling[code] ?? [`the file system says ${code}`, undefined];
  return storeUnavailable(what, why, { cause: error, ...(advice === undefined ? {} : { advice }) });
}

/** Whether it is the disk that failed, and no network. */
export function isDiskFault(error: unknown): boolean {
  const code = systemCode(error);
  return code !== null && Object.hasOwn(telling, code);
}

/** `ENOENT` and the like; null when the operating system has nothing to do with it. */
export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
