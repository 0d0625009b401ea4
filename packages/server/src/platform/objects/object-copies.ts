import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { type CheckOptions, type ObjectChecks, unlessAborted } from './check-object.ts';
import { isObjectFault, type ObjectRef, type ObjectStore, type OpenObject } from './objects.ts';

/** Keeps local copies of objects: at most so many bytes of them, not counting those that are being read. */
export type ObjectCopies = {
  /**
   * Returns the copy of an object, which stays until it is released. Throws ObjectMissing, ObjectDamaged or 503
   * `cold_tier_unavailable`.
   */
  open(ref: ObjectRef, options: CheckOptions): Promise<OpenObject>;
};

export type ObjectCopiesOptions = {
  readonly store: ObjectStore;
  readonly checks: ObjectChecks;
  readonly folder: () => Promise<string>;
  readonly maxBytes: number;
  readonly log: Log;
};

type Copy = {
  readonly ref: ObjectRef;
  readonly stop: AbortController;
  /** Resolves with the path of the copy once it is whole and checked. */
  ready: Promise<string>;
  isReady: boolean;
  /** How many callers read this copy or wait for it. */
  pins: number;
};

/**
 * Fetches each object once, however many callers ask for it at the same time; the fetch is given up when none of them
 * waits any more. When room is needed, the copy that was not used for the longest time is removed, but never one that
 * is being read.
 */
export function createObjectCopies(options: ObjectCopiesOptions): ObjectCopies {
  const { store, checks, maxBytes, log } = options;
  // A Map keeps the order of insertion, and `openOnce` inserts again on each use: the least recently used copy comes
  // first.
  const copies = new Map<string, Copy>();
  let bytes = 0;
  let lastNumber = 0;

  function start(id: string, ref: ObjectRef): Copy {
    const stop = new AbortController();
    const number = ++lastNumber;
    const copy: Copy = { ref, stop, ready: Promise.resolve(''), isReady: false, pins: 0 };
    copies.set(id, copy);
    bytes += ref.sizeBytes;
    copy.ready = fetchCopy(ref, number, stop.signal).then((path) => {
      copy.isReady = true;
      return path;
    });
    copy.ready.catch(() => forget(id, copy));
    return copy;
  }

  async function fetchCopy(ref: ObjectRef, number: number, signal: AbortSignal): Promise<string> {
    const folder = await options.folder();
    await makeRoom();
    const path = join(folder, `${number}.parquet`);
    try {
      await store.get(ref.key, path, signal);
      await checks.check(path, ref, { anew: true, signal });
      return path;
    } catch (error) {
      checks.forget(path);
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Takes the copy out of the list, so that nobody finds it any more. Those who read its file still can. */
  function forget(id: string, copy: Copy): void {
    if (copies.get(id) !== copy) return;
    copies.delete(id);
    bytes -= copy.ref.sizeBytes;
  }

  async function discard(copy: Copy): Promise<void> {
    try {
      const path = await copy.ready;
      checks.forget(path);
      await rm(path, { force: true });
    } catch (error) {
      log.warn({ err: error, key: copy.ref.key }, 'a copy of an object could not be removed');
    }
  }

  async function makeRoom(): Promise<void> {
    for (const [id, copy] of copies) {
      if (bytes <= maxBytes) return;
      if (copy.pins > 0 || !copy.isReady) continue;
      forget(id, copy);
      await discard(copy);
    }
  }

  async function release(id: string, copy: Copy): Promise<void> {
    copy.pins -= 1;
    if (copy.pins > 0) return;
    const isKnown = copies.get(id) === copy;
    if (copy.isReady) {
      if (isKnown) await makeRoom();
      else await discard(copy);
      return;
    }
    forget(id, copy);
    copy.stop.abort(new Error('nobody waits for this object any more'));
    // The fetch may have finished at this very moment, and then its file must be removed.
    await copy.ready.then(
      () => discard(copy),
      () => {},
    );
  }

  async function openOnce(ref: ObjectRef, check: CheckOptions): Promise<OpenObject> {
    const id = `${ref.key}\n${ref.sizeBytes}\n${ref.sha256.toString('hex')}`;
    const known = copies.get(id);
    const copy = known ?? start(id, ref);
    copy.pins += 1;
    // The copy moves to the end of the order of use.
    copies.delete(id);
    copies.set(id, copy);
    try {
      const path = await unlessAborted(copy.ready, check.signal);
      if (known !== undefined) await checks.check(path, ref, check);
      let isReleased = false;
      return {
        path,
        async release() {
          if (isReleased) return;
          isReleased = true;
          await release(id, copy);
        },
      };
    } catch (error) {
      const isSpoilt = copy.isReady && isObjectFault(error);
      if (isSpoilt) forget(id, copy);
      await release(id, copy);
      throw isSpoilt ? new SpoiltCopy(error) : error;
    }
  }

  return {
    async open(ref, check) {
      check.signal?.throwIfAborted();
      try {
        return await openOnce(ref, check);
      } catch (error) {
        if (!(error instanceof SpoiltCopy)) throw error;
        log.warn(
          { err: error.cause, key: ref.key },
          'a copy of an object was spoilt: fetched anew',
        );
        return await openOnce(ref, check);
      }
    },
  };
}

/**
 * A copy that was right when it was fetched and is no longer. The object in the store may still be right, so it is
 * fetched once more.
 */
class SpoiltCopy extends Error {
  constructor(cause: unknown) {
    super('the copy is not what it was', { cause });
  }
}
