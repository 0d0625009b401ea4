import { open } from 'node:fs/promises';
import { createGate } from '../../kernel/gate.ts';
import {
  type ByteSink,
  isObjectFault,
  ObjectDamaged,
  ObjectMissing,
  type ObjectRef,
  systemCode,
} from '../../platform/objects/objects.ts';
import { ThreadHash } from '../../platform/thread-hash.ts';
import type { JobProgress, WorkContext } from './context.ts';
import type { DonePart, PartObject, PartRow } from './queries.ts';
import { type PartCall, writePart } from './write-part.ts';

/** How many parts of one job are made at once: one is encoded while one is read back and one is stored. */
const partsAtOnce = 3;

/** Is told how far a part is: how many rows are encoded, and how many bytes are stored. */
export type Tally = (part: number, progress: JobProgress) => void;

/**
 * Makes the missing parts, and adds all in their order to the hash of the file: new ones before their local file is
 * gone, others as the store has them. A missing or damaged part is made anew.
 */
export async function makeParts(
  context: WorkContext,
  parts: readonly PartRow[],
  call: Omit<PartCall, 'onRows' | 'pinned'> & { hash: ThreadHash; tally: Tally; digest: string },
): Promise<{ parts: DonePart[]; hash: ThreadHash }> {
  const failing = new AbortController();
  const signal = AbortSignal.any([call.signal, failing.signal]);
  const gate = createGate(partsAtOnce);
  const pinned = parts.length === 1 ? call.digest : null;
  const make = async (part: PartRow, before: Promise<ThreadHash>) => {
    signal.throwIfAborted();
    const onRows = (rows: number) => call.tally(part.number, { rows, bytes: 0 });
    return writePart(context, part, { ...call, signal, onRows, pinned }, async (row, path) => {
      call.tally(row.number, { rows: row.rows, bytes: row.size_bytes });
      return {
        row,
        hash: await addFile(context, refOf(row), { hash: await before, path, signal }),
      };
    });
  };
  const add = async (
    part: PartRow,
    before: Promise<ThreadHash>,
  ): Promise<{ row: DonePart; hash: ThreadHash }> => {
    try {
      if (part.rows === null) return await gate.run(() => make(part, before));
      const hash = await addObject(context, refOf(part), { hash: await before, signal });
      return { row: part, hash };
    } catch (error) {
      // An abort may come from the part before, whose error this is then.
      if (signal.aborted || !isObjectFault(error)) throw error;
      return make(part, before);
    }
  };
  let hash = Promise.resolve(call.hash);
  const rows = parts.map((part) => {
    const added = add(part, hash);
    hash = added.then((both) => both.hash);
    hash.catch((error: unknown) => failing.abort(error));
    return added.then((both) => both.row);
  });
  try {
    return { parts: await Promise.all(rows), hash: await hash };
  } catch (error) {
    failing.abort(error);
    // The first error is thrown: the others were caused by its abort.
    throw failing.signal.reason;
  } finally {
    // No part of this attempt may still be written when the next attempt begins.
    await Promise.allSettled(rows);
  }
}

function refOf(part: PartObject): ObjectRef {
  return { key: part.object_key, sizeBytes: part.size_bytes, sha256: part.sha256 };
}

type Adding = { readonly hash: ThreadHash; readonly signal: AbortSignal };

/** Returns a copy of a hash with an object of the store added. Throws ObjectMissing, ObjectDamaged. */
async function addObject(
  context: WorkContext,
  ref: ObjectRef,
  { hash, signal }: Adding,
): Promise<ThreadHash> {
  const { store, pace } = context;
  const path = store.pathOf(ref.key);
  if (path !== null) return addFile(context, ref, { hash, signal, path });
  const rest = pace.begin();
  let [whole, own] = [hash, new ThreadHash()];
  const sink: ByteSink = {
    begin() {
      [whole, own] = [new ThreadHash(hash), new ThreadHash()];
    },
    async write(bytes) {
      await own.update(bytes, { also: whole });
      await rest(signal);
    },
  };
  await store.get(ref.key, sink, signal);
  return proved({ whole, own }, ref);
}

/** Adds the local file that is an object, or was sent as one, as `addObject` does. It is read once. */
export async function addFile(
  { pace }: Pick<WorkContext, 'pace'>,
  ref: ObjectRef,
  { hash, path, signal }: Adding & { path: string },
): Promise<ThreadHash> {
  const rest = pace.begin();
  const [whole, own] = [new ThreadHash(hash), new ThreadHash()];
  const file = await open(path, 'r').catch((error: unknown) => {
    throw systemCode(error) === 'ENOENT' ? new ObjectMissing(ref.key) : error;
  });
  try {
    await own.addFile(file, { also: whole, signal, onChunk: () => rest(signal) });
  } finally {
    await file.close();
  }
  return proved({ whole, own }, ref);
}

async function proved(
  { whole, own }: { whole: ThreadHash; own: ThreadHash },
  ref: ObjectRef,
): Promise<ThreadHash> {
  if ((await own.digest()).equals(ref.sha256)) return whole;
  throw new ObjectDamaged(ref.key, 'is not what was written: its SHA-256 differs');
}
