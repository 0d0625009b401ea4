import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { unlessAborted } from '../work/unless-aborted.ts';
import {
  fromFileSystem,
  ObjectDamaged,
  ObjectMissing,
  type ObjectRef,
  systemCode,
} from './objects.ts';

/** The results of at most this many checks are remembered. */
const remembered = 100_000;
/** This much is hashed between two turns of the event loop; it takes a millisecond or less. */
const chunkBytes = 256 * 1024;

/** Checks that local files are what their references say. */
export type ObjectChecks = {
  /**
   * Compares the size of the file with the reference, and its SHA-256 unless the same file, unchanged, passed before;
   * `anew` hashes it in any case. Throws ObjectMissing, ObjectDamaged or 503 `cold_tier_unavailable`.
   */
  check(path: string, ref: ObjectRef, options: CheckOptions): Promise<void>;
  /** Forgets that the file was checked. Call it when the file is removed or may have changed. */
  forget(path: string): void;
};

export type CheckOptions = { readonly anew: boolean; readonly signal: AbortSignal | undefined };

export function createObjectChecks(): ObjectChecks {
  // With `max` it would take its memory at once, and 16 ms of each start.
  const checked = new LRUCache<string, string>({ maxSize: remembered, sizeCalculation: () => 1 });
  const running = new Map<string, Promise<void>>();

  const checkFile = async (path: string, ref: ObjectRef, { anew, signal }: CheckOptions) => {
    const isKnown = (state: string) => !anew && checked.get(path) === state;
    const state = await checkObject(path, ref, { signal, isKnown }).catch((error: unknown) => {
      checked.delete(path);
      throw error;
    });
    checked.set(path, state);
  };

  /**
   * Many pages that open a segment for the first time at the same moment cause one check. The check has no caller's
   * signal: it goes on for the others when one of them goes away.
   */
  const checkOnce = (path: string, ref: ObjectRef): Promise<void> => {
    const id = `${path}\n${ref.sizeBytes}\n${ref.sha256.toString('hex')}`;
    const known = running.get(id);
    if (known !== undefined) return known;
    const work = checkFile(path, ref, { anew: false, signal: undefined }).finally(() =>
      running.delete(id),
    );
    running.set(id, work);
    return work;
  };

  return {
    async check(path, ref, options) {
      options.signal?.throwIfAborted();
      if (options.anew) await checkFile(path, ref, options);
      else await unlessAborted(checkOnce(path, ref), options.signal);
    },
    forget(path) {
      checked.delete(path);
    },
  };
}

/**
 * Compares a file with the reference by its size and its SHA-256, and returns the state in which it was: a file that is
 * replaced or written to gets another inode, size or time of change. Nothing is read of a file in a state that
 * `isKnown`. Throws ObjectMissing, ObjectDamaged or 503 `cold_tier_unavailable`.
 */
export async function checkObject(
  path: string,
  ref: ObjectRef,
  { signal, isKnown }: { signal?: AbortSignal | undefined; isKnown?: (state: string) => boolean },
): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) throw new ObjectMissing(ref.key);
    throw fromFileSystem(error, `The object ${ref.key} cannot be read from ${path}`);
  });
  try {
    const { dev, ino, size, mtimeNs } = await file.stat({ bigint: true });
    if (size !== BigInt(ref.sizeBytes)) {
      throw new ObjectDamaged(ref.key, `has ${size} bytes instead of ${ref.sizeBytes}`);
    }
    const state = [dev, ino, size, mtimeNs, ref.sha256.toString('hex')].join(':');
    if (isKnown?.(state) === true) return state;
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, ref.sizeBytes + 1));
    // This is not a stream, because a stream of a file handle ends the whole process when its signal is already
    // aborted.
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      hash.update(chunk.subarray(0, bytesRead));
    }
    const sha256 = hash.digest();
    if (!sha256.equals(ref.sha256)) {
      throw new ObjectDamaged(
        ref.key,
        `has the SHA-256 ${sha256.toString('hex')} instead of ${ref.sha256.toString('hex')}`,
      );
    }
    return state;
  } catch (error) {
    signal?.throwIfAborted();
    throw fromFileSystem(error, `The object ${ref.key} cannot be read from ${path}`);
  } finally {
    await file.close();
  }
}
