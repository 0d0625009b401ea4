import { AppError } from '../../kernel/errors.ts';
import type { S3Place } from './s3-url.ts';

/** Says what an object must be. It is compared with the object whenever that is opened. */
export type ObjectRef = {
  /** The path below the store's root, with `/` between folders, such as `records/tenant=TX/seg_….parquet`. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
};

/** An upload in parts that has begun and not ended, of a process at work or one that was killed. */
export type OpenUpload = {
  readonly id: string;
  readonly key: string;
  /** When it was begun: milliseconds since 1970, by the clock of the store. */
  readonly startedAt: number;
};

/** A stretch of an object that is read by itself: its first byte, and the byte after its last one. */
export type ByteStretch = { readonly start: number; readonly end: number };

/** A stretch that can be checked by itself, too. */
export type ObjectPiece = ByteStretch & { readonly sha256: Buffer };

export type ObjectInfo = {
  readonly key: string;
  readonly sizeBytes: number;
  /** When it was written: milliseconds since 1970, by the clock of the store. Lists have it. */
  readonly writtenAt?: number;
};

/**
 * A store of immutable objects: the file system, or anything that speaks S3. Every call takes a signal and throws its
 * reason when it aborts. Every call has time-outs and bounded retries of its own, and throws 503
 * `cold_tier_unavailable` when the store cannot be reached or has no space left.
 */
export type ObjectStore = {
  /** Where the store is, for people to read: a folder or `s3://bucket/prefix`. */
  readonly location: string;
  /** How far this machine's clock was ahead of a remote store's at its last answer; null before the first. */
  readonly clockAheadMillis?: () => number | null;
  /**
   * Stores a local file under a key. When it returns, the object is whole and durable; nobody sees it before. An object
   * that already has this key is replaced. `mayTake` allows the store to make the file itself the object, so its owner
   * may only remove it from then on and never write to it.
   */
  put(
    key: string,
    path: string,
    signal?: AbortSignal,
    options?: { readonly mayTake?: boolean },
  ): Promise<void>;
  /**
   * Reads an object from the store, without any cache, into a local file, which it makes or replaces, or into a sink:
   * the whole object, or a stretch of an object that must have `sizeBytes`. Throws ObjectMissing, and ObjectDamaged when
   * a stretch is asked of an object that has another size.
   */
  get(
    key: string,
    target: string | ByteSink,
    signal?: AbortSignal,
    stretch?: ByteStretch & { readonly sizeBytes: number },
  ): Promise<void>;
  /** Has the server copy another store's object, and proves nothing of it. False: refused, or elsewhere. Only in S3. */
  readonly copyFrom?: (
    source: ObjectStore,
    keys: { readonly from: string; readonly to: string },
    signal?: AbortSignal,
  ) => Promise<boolean>;
  /** Which bucket it is. Only stores in S3 have this. */
  readonly s3?: S3Place;
  /** Returns the size of an object, or null when there is no such object. */
  head(key: string, signal?: AbortSignal): Promise<ObjectInfo | null>;
  /** Lists all objects whose key begins with the prefix, in any order. They are asked for page by page. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<ObjectInfo>;
  /** Lists open uploads of objects whose key begins with the prefix, page by page. A file system has none. */
  listUploads(prefix: string, signal?: AbortSignal): AsyncIterable<OpenUpload>;
  /** Gives an upload up and removes its parts. It does no harm when the upload has ended. */
  endUpload(upload: OpenUpload, signal?: AbortSignal): Promise<void>;
  /** Removes an object. It does no harm when there is no such object. */
  remove(key: string, signal?: AbortSignal): Promise<void>;
  /** Says which database the store goes on with; fence.ts explains how. */
  readonly marker: StoreMarker;
  /** Writes and removes something. Throws 503 `cold_tier_unavailable` when it cannot, or lacks what `marker` needs. */
  tryWrite(signal?: AbortSignal): Promise<void>;
  /** Returns the path of the file that is the object; null when the store is not a file system. */
  pathOf(key: string): string | null;
  close(): Promise<void>;
};

/** Takes the bytes of an object as they come, and keeps none of the memory that they come in. */
export type ByteSink = {
  /** Is called before the first bytes, and again when the object is read anew because reading it broke off. */
  begin(): void;
  write(bytes: Buffer): void | Promise<void>;
};

/** A short text that many processes change, each only from the text that it last knew. */
export type StoreMarker = {
  /** Returns the text; null while there is none. */
  read(signal?: AbortSignal): Promise<string | null>;
  /** Changes the text to one never used before, if it is `expected`; returns whether. A throw leaves that open. */
  swap(expected: string | null, text: string, signal?: AbortSignal): Promise<boolean>;
};

/** Thrown when there is no object under this key. */
export class ObjectMissing extends Error {
  readonly key: string;

  constructor(key: string) {
    super(`there is no object ${key}`);
    this.name = 'ObjectMissing';
    this.key = key;
  }
}

/** Thrown when the object is not what its reference says: its size or its SHA-256 is another one. */
export class ObjectDamaged extends Error {
  readonly key: string;

  constructor(key: string, what: string) {
    super(`the object ${key} ${what}`);
    this.name = 'ObjectDamaged';
    this.key = key;
  }
}

/** Returns whether the object itself is at fault, rather than the store or the way to it. */
export function isObjectFault(error: unknown): error is ObjectMissing | ObjectDamaged {
  return error instanceof ObjectMissing || error instanceof ObjectDamaged;
}

/** An object as a local file. It stays readable until it is released, whatever becomes of the object meanwhile. */
export type OpenObject = { readonly path: string; release(): Promise<void> };

/** How an object is opened. */
export type OpenOptions = {
  /** It is read and hashed whatever was checked before, as exports want it. */
  readonly anew?: boolean | undefined;
  /** The pieces that are needed, each proved by its own SHA-256; other bytes may be zeros. `anew` passes this over. */
  readonly pieces?: readonly ObjectPiece[] | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Opens objects as local files. Where the store is a file system they are read in place; otherwise they are copied to a
 * folder of bounded size, from which the least recently used copies are removed first.
 */
export type ObjectReader = {
  /** Opens and checks an object; without `anew`, anew only if changed. Throws ObjectMissing, ObjectDamaged or 503. */
  open(ref: ObjectRef, options?: OpenOptions): Promise<OpenObject>;
  /** The store that is read, for people. */
  readonly location?: string;
  /** Whether objects are fetched, so that it pays to ask for pieces. */
  readonly isRemote: boolean;
  close(): Promise<void>;
};

const maxBytes = 1024;
const maxSegmentBytes = 255;

/**
 * Throws a RangeError for keys that some store could not hold: those that lead out of its root, and those that are
 * longer than S3 allows (1,024 bytes) or than a file system allows between two `/` (255 bytes).
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

/** The marker beside the objects, a folder in a file system. Readers of data sets skip names that begin with `_`. */
export const markerName = '_svcctl-store';

/** The folder in which a store on a file system keeps what is not whole yet. */
export const temporaryFolder = '.tmp';

/** Makes the 503 of a store. Its detail says what could not be done, why, and what to do about it. */
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
  ENOTDIR: ['a file stands where a folder should be (ENOTDIR)', 'Move the file away.'],
  EEXIST: ['a file stands where a folder should be (EEXIST)', 'Move the file away.'],
};

/** Turns what a file system said into a 503. Any other error, such as an abort, is returned unchanged. */
export function fromFileSystem(error: unknown, what: string): unknown {
  const code = systemCode(error);
  if (code === null) return error;
  const [why, advice] = telling[code] ?? [`the file system says ${code}`, undefined];
  return storeUnavailable(what, why, { cause: error, ...(advice === undefined ? {} : { advice }) });
}

/** Returns whether the local disk failed, and not a network. */
export function isDiskFault(error: unknown): boolean {
  const code = systemCode(error);
  return code !== null && Object.hasOwn(telling, code);
}

/** Returns the code of an error of the operating system, such as `ENOENT`; null for any other error. */
export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
