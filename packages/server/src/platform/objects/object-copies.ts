import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { unlessAborted } from '../work/unless-aborted.ts';
import type { CheckOptions, ObjectChecks } from './check-object.ts';
import {
  isObjectFault,
  type ObjectPiece,
  type ObjectRef,
  type ObjectStore,
  type OpenObject,
} from './objects.ts';
import { SparseCopy, SpoiltCopy } from './sparse-copy.ts';

type ObjectCopiesOptions = {
  readonly store: ObjectStore;
  readonly checks: ObjectChecks;
  readonly folder: () => Promise<string>;
  readonly maxBytes: number;
  readonly log: Log;
};

type Copy = {
  readonly id: string;
  readonly ref: ObjectRef;
  readonly stop: AbortController;
  /** Resolves with the path of the copy: when it is whole and checked, or when pieces can come into it. */
  ready: Promise<string>;
  isReady: boolean;
  /** How many callers read this copy or wait for it. */
  pins: number;
  /** How many bytes are held for it. */
  bytes: number;
  /** The pieces of a copy that has only some; null for a whole one. */
  sparse: SparseCopy | null;
};

/**
 * Keeps local copies of objects: at most so many bytes of them, not counting those that are being read. It fetches each
 * object, or each piece of it, once, however many callers ask for it at the same time; the fetch is given up when none of
 * them waits any more. When room is needed, the copy that was not used for the longest time is removed, but never one
 * that is being read.
 */
export class ObjectCopies {
  readonly #options: ObjectCopiesOptions;
  // A Map keeps the order of insertion, and `#openOnce` inserts again on each use: the least recently used copy comes
  // first.
  readonly #copies = new Map<string, Copy>();
  #bytes = 0;
  #lastNumber = 0;

  constructor(options: ObjectCopiesOptions) {
    this.#options = options;
  }

  /**
   * Returns the copy of an object, which stays until it is released. With `pieces` the copy may be one that has only
   * these pieces and those that others asked for. Throws ObjectMissing, ObjectDamaged or 503 `cold_tier_unavailable`.
   */
  async open(
    ref: ObjectRef,
    check: CheckOptions,
    pieces?: readonly ObjectPiece[],
  ): Promise<OpenObject> {
    check.signal?.throwIfAborted();
    const wanted = check.anew ? undefined : pieces;
    try {
      return await this.#openOnce(ref, check, wanted);
    } catch (error) {
      if (!(error instanceof SpoiltCopy)) throw error;
      this.#options.log.warn(
        { err: error.cause, key: ref.key },
        'a copy of an object was spoilt: fetched anew',
      );
      return await this.#openOnce(ref, check, wanted);
    }
  }

  async #openOnce(
    ref: ObjectRef,
    check: CheckOptions,
    pieces: readonly ObjectPiece[] | undefined,
  ): Promise<OpenObject> {
    const isWhole = pieces === undefined || this.#copies.get(idOf(ref, true))?.isReady === true;
    const id = idOf(ref, isWhole);
    const known = this.#copies.get(id);
    const copy = known ?? this.#start(id, ref, isWhole);
    copy.pins += 1;
    // The copy moves to the end of the order of use.
    this.#copies.delete(id);
    this.#copies.set(id, copy);
    try {
      const path = await unlessAborted(copy.ready, check.signal);
      if (copy.sparse !== null && pieces !== undefined) {
        await unlessAborted(copy.sparse.add(path, pieces), check.signal);
      } else if (known !== undefined) await this.#options.checks.check(path, ref, check);
      let isReleased = false;
      return {
        path,
        release: async () => {
          if (isReleased) return;
          isReleased = true;
          await this.#release(copy);
        },
      };
    } catch (error) {
      const isSpoilt =
        error instanceof SpoiltCopy || (isWhole && copy.isReady && isObjectFault(error));
      if (isSpoilt) this.#forget(copy);
      await this.#release(copy);
      throw isSpoilt && !(error instanceof SpoiltCopy) ? new SpoiltCopy(error) : error;
    }
  }

  #start(id: string, ref: ObjectRef, isWhole: boolean): Copy {
    const stop = new AbortController();
    const copy: Copy = {
      id,
      ref,
      stop,
      ready: Promise.resolve(''),
      isReady: false,
      pins: 0,
      bytes: 0,
      sparse: null,
    };
    this.#copies.set(id, copy);
    if (isWhole) this.#hold(copy, ref.sizeBytes);
    else copy.sparse = this.#makeSparse(copy);
    copy.ready = (copy.sparse?.make() ?? this.#fetchWhole(copy)).then((path) => {
      copy.isReady = true;
      return path;
    });
    copy.ready.catch(() => this.#forget(copy));
    return copy;
  }

  #makeSparse(copy: Copy): SparseCopy {
    const { store, checks } = this.#options;
    return new SparseCopy(copy.ref, {
      store,
      checks,
      signal: copy.stop.signal,
      nextPath: (suffix) => this.#nextPath(suffix),
      reserve: (bytes) => {
        this.#hold(copy, bytes);
        return this.#makeRoom();
      },
      giveBack: (bytes) => this.#hold(copy, -bytes),
    });
  }

  async #fetchWhole({ ref, stop: { signal } }: Copy): Promise<string> {
    const { store, checks } = this.#options;
    const path = await this.#nextPath();
    await this.#makeRoom();
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

  async #nextPath(suffix = ''): Promise<string> {
    return join(await this.#options.folder(), `${++this.#lastNumber}${suffix}.parquet`);
  }

  /** Counts bytes of a copy. Those of a copy that was forgotten meanwhile count no more. */
  #hold(copy: Copy, count: number): void {
    if (!this.#isKnown(copy)) return;
    copy.bytes += count;
    this.#bytes += count;
  }

  #isKnown(copy: Copy): boolean {
    return this.#copies.get(copy.id) === copy;
  }

  /** Takes the copy out of the list, so that nobody finds it any more. Those who read its file still can. */
  #forget(copy: Copy): void {
    if (!this.#isKnown(copy)) return;
    this.#copies.delete(copy.id);
    this.#bytes -= copy.bytes;
  }

  async #discard(copy: Copy): Promise<void> {
    const { checks, log } = this.#options;
    try {
      const path = await copy.ready;
      checks.forget(path);
      await rm(path, { force: true });
    } catch (error) {
      log.warn({ err: error, key: copy.ref.key }, 'a copy of an object could not be removed');
    }
  }

  async #makeRoom(): Promise<void> {
    for (const copy of this.#copies.values()) {
      if (this.#bytes <= this.#options.maxBytes) return;
      if (copy.pins > 0 || !copy.isReady) continue;
      this.#forget(copy);
      await this.#discard(copy);
    }
  }

  async #release(copy: Copy): Promise<void> {
    copy.pins -= 1;
    if (copy.pins > 0) return;
    if (copy.isReady && copy.sparse?.isFetching !== true) {
      if (this.#isKnown(copy)) await this.#makeRoom();
      else await this.#discard(copy);
      return;
    }
    this.#forget(copy);
    copy.stop.abort(new Error('nobody waits for this object any more'));
    await copy.sparse?.untilIdle();
    // The fetch may have finished at this very moment, and then its file must be removed.
    await copy.ready.then(
      () => this.#discard(copy),
      () => {},
    );
  }
}

function idOf({ key, sizeBytes, sha256 }: ObjectRef, isWhole: boolean): string {
  return `${key}\n${sizeBytes}\n${sha256.toString('hex')}${isWhole ? '' : '\npieces'}`;
}
