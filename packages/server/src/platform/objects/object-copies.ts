import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { type CheckOptions, type ObjectChecks, unlessAborted } from './check-object.ts';
import { isObjectFault, type ObjectRef, type ObjectStore, type OpenObject } from './objects.ts';

/** Local copies of objects, at most so many bytes of them beyond what is being read. */
export type ObjectCopies = {
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
  /** Its path, once it is whole and checked. */
  ready: Promise<string>;
  isReady: boolean;
  /** Those who read it or wait for it. */
  pins: number;
};

/**
 * Each object is fetched once however many ask at the same time; the fetch is given up when none of them
 * waits any more. Copies go in the order in which they were last used, never one that is being read.
 */
export function createObjectCopies(options: ObjectCopiesOptions): ObjectCopies {
  const { store, checks, maxBytes, log } = options;
  // The least recently used first.
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

  /** From now on nobody finds it. */
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
    // It may have become whole in this very moment.
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

/** A copy that was right when it was fetched; the object itself may still be. */
class SpoiltCopy extends Error {
  constructor(cause: unknown) {
    super('the copy is not what it was', { cause });
  }
}
