import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGate, type Gate } from '../../kernel/gate.ts';
import type { Log } from '../log.ts';
import { unlessAborted } from '../work/unless-aborted.ts';
import type { CheckOptions, ObjectChecks } from './check-object.ts';
import {
  fromFileSystem,
  isObjectFault,
  ObjectDamaged,
  type ObjectPiece,
  type ObjectRef,
  type ObjectStore,
  type OpenObject,
} from './objects.ts';

/** Keeps local copies of objects: at most so many bytes of them, not counting those that are being read. */
export type ObjectCopies = {
  /**
   * Returns the copy of an object, which stays until it is released. With `pieces` the copy may be one that has only
   * these pieces and those that others asked for. Throws ObjectMissing, ObjectDamaged or 503 `cold_tier_unavailable`.
   */
  open(ref: ObjectRef, options: CheckOptions, pieces?: readonly ObjectPiece[]): Promise<OpenObject>;
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
  /** Resolves with the path of the copy: when it is whole and checked, or when pieces can come into it. */
  ready: Promise<string>;
  isReady: boolean;
  /** How many callers read this copy or wait for it. */
  pins: number;
  /** How many bytes are held for it. */
  bytes: number;
  /** What is known of a copy that has only some pieces; null for a whole one. */
  readonly partial: InPieces | null;
};

type InPieces = {
  /** The pieces that are in the file or on their way, by their SHA-256 and place. */
  readonly pieces: Map<string, Promise<void>>;
  /** Only one at a time looks at the file's state or changes it. */
  readonly file: Gate;
  /** What the file was like when the last piece came into it. */
  state: string;
  /** How many pieces are on their way. */
  fetching: number;
};

/**
 * Fetches each object, or each piece of it, once, however many callers ask for it at the same time; the fetch is given
 * up when none of them waits any more. When room is needed, the copy that was not used for the longest time is removed,
 * but never one that is being read.
 *
 * A copy of pieces is a file of the object's size with holes, so that whoever reads it finds each byte at its place. A
 * piece comes into it only after it was checked in a file of its own.
 */
export function createObjectCopies(options: ObjectCopiesOptions): ObjectCopies {
  const { store, checks, maxBytes, log } = options;
  // A Map keeps the order of insertion, and `openOnce` inserts again on each use: the least recently used copy comes
  // first.
  const copies = new Map<string, Copy>();
  let bytes = 0;
  let lastNumber = 0;

  function start(id: string, ref: ObjectRef, isWhole: boolean): Copy {
    const copy: Copy = {
      ref,
      stop: new AbortController(),
      ready: Promise.resolve(''),
      isReady: false,
      pins: 0,
      bytes: 0,
      partial: isWhole ? null : { pieces: new Map(), file: createGate(1), state: '', fetching: 0 },
    };
    copies.set(id, copy);
    if (isWhole) hold(copy, ref.sizeBytes);
    const { partial } = copy;
    copy.ready = (
      partial === null ? fetchCopy(ref, copy.stop.signal) : makeEmpty(ref, partial)
    ).then((path) => {
      copy.isReady = true;
      return path;
    });
    copy.ready.catch(() => forget(id, copy));
    return copy;
  }

  /** Counts bytes of a copy. Those of a copy that was forgotten meanwhile count no more. */
  function hold(copy: Copy, count: number): void {
    if (!isKnown(copy)) return;
    copy.bytes += count;
    bytes += count;
  }

  function isKnown(copy: Copy): boolean {
    return copies.get(idOf(copy.ref, copy.partial === null)) === copy;
  }

  async function nextPath(suffix = ''): Promise<string> {
    return join(await options.folder(), `${++lastNumber}${suffix}.parquet`);
  }

  async function makeEmpty(ref: ObjectRef, partial: InPieces): Promise<string> {
    const path = await nextPath();
    try {
      await writeFile(path, '', { mode: 0o600 });
      await truncate(path, ref.sizeBytes);
      partial.state = await stateOf(path);
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw fromFileSystem(error, `The object ${ref.key} cannot be copied to ${path}`);
    }
  }

  /** Brings those pieces into the copy that are not there. Throws SpoiltCopy when its file was changed by others. */
  async function addPieces(
    copy: Copy,
    partial: InPieces,
    { path, pieces }: { path: string; pieces: readonly ObjectPiece[] },
  ): Promise<void> {
    await partial.file.run(() => assertUnchanged(path, partial));
    const added = await Promise.allSettled(
      pieces.map((piece) => {
        const place = `${piece.start}-${piece.end} ${piece.sha256.toString('hex')}`;
        const known = partial.pieces.get(place);
        if (known !== undefined) return known;
        const work = addPiece(copy, partial, { path, piece });
        partial.pieces.set(place, work);
        work.catch(() => partial.pieces.delete(place));
        return work;
      }),
    );
    for (const piece of added) if (piece.status === 'rejected') throw piece.reason;
  }

  async function addPiece(
    copy: Copy,
    partial: InPieces,
    { path, piece }: { path: string; piece: ObjectPiece },
  ): Promise<void> {
    const { ref } = copy;
    const { signal } = copy.stop;
    const { start: first, end, sha256 } = piece;
    const sizeBytes = end - first;
    const own = await nextPath('-piece');
    partial.fetching += 1;
    hold(copy, sizeBytes);
    try {
      await makeRoom();
      await store.get(ref.key, own, signal, { start: first, end, sizeBytes: ref.sizeBytes });
      await checks.check(own, { key: ref.key, sizeBytes, sha256 }, { anew: true, signal });
      await partial.file.run(async () => {
        await assertUnchanged(path, partial);
        const target = createWriteStream(path, { flags: 'r+', start: first });
        await pipeline(createReadStream(own), target);
        partial.state = await stateOf(path);
      });
    } catch (error) {
      hold(copy, -sizeBytes);
      if (error instanceof ObjectDamaged) throw damagedPiece(piece, error);
      throw fromFileSystem(error, `The object ${ref.key} cannot be copied to ${path}`);
    } finally {
      partial.fetching -= 1;
      checks.forget(own);
      await rm(own, { force: true });
    }
  }

  async function fetchCopy(ref: ObjectRef, signal: AbortSignal): Promise<string> {
    const path = await nextPath();
    await makeRoom();
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
    bytes -= copy.bytes;
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
    if (copy.isReady && (copy.partial?.fetching ?? 0) === 0) {
      if (isKnown(copy)) await makeRoom();
      else await discard(copy);
      return;
    }
    forget(id, copy);
    copy.stop.abort(new Error('nobody waits for this object any more'));
    await Promise.allSettled([...(copy.partial?.pieces.values() ?? [])]);
    // The fetch may have finished at this very moment, and then its file must be removed.
    await copy.ready.then(
      () => discard(copy),
      () => {},
    );
  }

  async function openOnce(
    ref: ObjectRef,
    check: CheckOptions,
    pieces: readonly ObjectPiece[] | undefined,
  ): Promise<OpenObject> {
    const isWhole = pieces === undefined || copies.get(idOf(ref, true))?.isReady === true;
    const id = idOf(ref, isWhole);
    const known = copies.get(id);
    const copy = known ?? start(id, ref, isWhole);
    copy.pins += 1;
    // The copy moves to the end of the order of use.
    copies.delete(id);
    copies.set(id, copy);
    try {
      const path = await unlessAborted(copy.ready, check.signal);
      const { partial } = copy;
      if (partial !== null && pieces !== undefined) {
        await unlessAborted(addPieces(copy, partial, { path, pieces }), check.signal);
      } else if (known !== undefined) await checks.check(path, ref, check);
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
      const isSpoilt =
        error instanceof SpoiltCopy || (isWhole && copy.isReady && isObjectFault(error));
      if (isSpoilt) forget(id, copy);
      await release(id, copy);
      throw isSpoilt && !(error instanceof SpoiltCopy) ? new SpoiltCopy(error) : error;
    }
  }

  return {
    async open(ref, check, pieces) {
      check.signal?.throwIfAborted();
      const wanted = check.anew ? undefined : pieces;
      try {
        return await openOnce(ref, check, wanted);
      } catch (error) {
        if (!(error instanceof SpoiltCopy)) throw error;
        log.warn(
          { err: error.cause, key: ref.key },
          'a copy of an object was spoilt: fetched anew',
        );
        return await openOnce(ref, check, wanted);
      }
    },
  };
}

function damagedPiece({ start, end }: ObjectPiece, cause: ObjectDamaged): ObjectDamaged {
  const what = `is not what was written: of its bytes from ${start} to ${end}, ${cause.message}`;
  return new ObjectDamaged(cause.key, what);
}

function idOf({ key, sizeBytes, sha256 }: ObjectRef, isWhole: boolean): string {
  return `${key}\n${sizeBytes}\n${sha256.toString('hex')}${isWhole ? '' : '\npieces'}`;
}

/** A file that was replaced or written to has another inode, size or time of change. */
async function stateOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs].join(':');
}

async function assertUnchanged(path: string, { state }: InPieces): Promise<void> {
  const now = await stateOf(path).catch(() => null);
  if (now !== state) throw new SpoiltCopy(new Error(`${path} was changed by another`));
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
