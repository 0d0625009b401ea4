import { AppError } from '../../kernel/errors.ts';

/** What an object must be: checked whenever it is opened. */
export type ObjectRef = {
  /** Below the store's root, with `/` between folders; such as `records/tenant=TX/seg_….parquet`. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
};

/** An upload in parts that was begun and has not ended: of a process at work, or of one that was killed. */
export type OpenUpload = {
  readonly id: string;
  readonly key: string;
  /** Milliseconds since 1970, by the store's clock. */
  readonly startedAt: number;
};

export type ObjectInfo = { readonly key: string; readonly sizeBytes: number };

/**
 * A store of immutable objects: the file system, or anything that speaks S3. Every call takes a signal,
 * has time-outs and bounded retries of its own, and throws 503 `cold_tier_unavailable` when the store
 * cannot be reached or has no space left.
 */
export type ObjectStore = {
  /** For people to read: a folder or s3://bucket/prefix. */
  readonly location: string;
  /**
   * Stores a local file under a key. When it returns the object is durable and whole; before that
   * nobody sees it. Again under the same key: replaces it. `mayTake`: the file itself may become the object,
   * so its owner only removes it from now on.
   */
  put(
    key: string,
    path: string,
    signal?: AbortSignal,
    options?: { readonly mayTake?: boolean },
  ): Promise<void>;
  /**
   * Reads an object anew from the store into a local file, which it makes or replaces. Throws
   * ObjectMissing.
   */
  get(key: string, path: string, signal?: AbortSignal): Promise<void>;
  /** Null when there is no such object. */
  head(key: string, signal?: AbortSignal): Promise<ObjectInfo | null>;
  /** All objects whose key begins with the prefix, in any order, page by page. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<ObjectInfo>;
  /** Uploads of objects whose key begins with the prefix, page by page; a file system has none. */
  listUploads(prefix: string, signal?: AbortSignal): AsyncIterable<OpenUpload>;
  /** Gives an upload up and removes its parts. Harmless when it has ended. */
  endUpload(upload: OpenUpload, signal?: AbortSignal): Promise<void>;
  /** Harmless when there is no such object. */
  remove(key: string, signal?: AbortSignal): Promise<void>;
  /** Which database the store goes on with: see fence.ts. */
  readonly marker: StoreMarker;
  /**
   * Writes something beside the objects and removes it. Throws 503 `cold_tier_unavailable` when that cannot
   * be done, or when the store lacks what `marker` needs.
   */
  tryWrite(signal?: AbortSignal): Promise<void>;
  /** The object as a file that can be read in place; null when the store is not a file system. */
  pathOf(key: string): string | null;
  close(): Promise<void>;
};

/** A short text that many processes change, each only from what it knows. */
export type StoreMarker = {
  /** Null while there is none. */
  read(signal?: AbortSignal): Promise<string | null>;
  /**
   * Changes it to `text`, which was never used before, if it is `expected` at that very moment; says whether
   * it was. When it throws it may have been changed.
   */
  swap(expected: string | null, text: string, signal?: AbortSignal): Promise<boolean>;
};

/** There is no object under this key. */
export class ObjectMissing extends Error {
  readonly key: string;

  constructor(key: string) {
    super(`there is no object ${key}`);
    this.name = 'ObjectMissing';
    this.key = key;
  }
}

/** The object is not what its reference says: another size or SHA-256. */
export class ObjectDamaged extends Error {
  readonly key: string;

  constructor(key: string, what: string) {
    super(`the object ${key} ${what}`);
    this.name = 'ObjectDamaged';
    this.key = key;
  }
}

/** Whether an object is at fault, rather than the store or the way to it. */
export function isObjectFault(error: unknown): error is ObjectMissing | ObjectDamaged {
  return error instanceof ObjectMissing || error instanceof ObjectDamaged;
}

/** An object as a local file that stays readable until it is released, whatever becomes of the object. */
export type OpenObject = { readonly path: string; release(): Promise<void> };

/**
 * Opens objects as local files: in place where the store is a file system, else as copies in a bounded
 * folder, the least recently used removed first.
 */
export type ObjectReader = {
  /**
   * `anew`: read and checked whatever was checked before (exports); otherwise what was checked once is
   * taken as long as its file has not changed (pages). Throws ObjectMissing, ObjectDamaged.
   */
  open(ref: ObjectRef, options?: { anew?: boolean; signal?: AbortSignal }): Promise<OpenObject>;
  close(): Promise<void>;
};

const maxBytes = 1024;
const maxSegmentBytes = 255;

/**
 * Refuses keys that some store could not hold: those that lead out of its root, and those longer than
 * S3 takes (1,024 bytes) or a file system takes between two `/` (255).
 */
export function assertObjectKey(key: string): void {
  const segments = key.split('/');
  const fault =
    segments.find((segment) => segment === '' || segment === '.' || segment === '..') !== undefined
      ? 'has an empty segment, . or ..'
      : [temporaryFolder, markerName].includes(segments[0] ?? '')
        ? `begins with ${segments[0]}`
        : /[\0\\]/.test(key)
          ? 'holds a backslash or NUL'
          : Buffer.byteLength(key) > maxBytes
            ? `is longer than ${maxBytes} bytes`
            : segments.some((segment) => Buffer.byteLength(segment) > maxSegmentBytes)
              ? `has a segment longer than ${maxSegmentBytes} bytes`
              : null;
  if (fault !== null) throw new RangeError(`the object key ${JSON.stringify(key)} ${fault}`);
}

/** What lies beside the objects and is none of them: in a file system a folder. Readers of data sets pass over it. */
export const markerName = '_svcctl-store';

/** Where a store on a file system keeps what is not whole yet. */
export const temporaryFolder = '.tmp';

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
