import type { Hash } from 'node:crypto';
import { createGate } from '../../../kernel/gate.ts';
import { isObjectFault } from '../../../platform/objects/objects.ts';
import type { WorkContext } from './context.ts';
import { hashObject } from './finish.ts';
import type { DoneRow, PartRow } from './queries.ts';
import { type PartCall, writePart } from './write-part.ts';

/** How many parts of one job are made at once: one is encoded while one is read back and one is stored. */
const partsAtOnce = 3;

/** Is told how far the parts are: which are done, and how many rows the others have by now. */
export type Tally = {
  done(part: Pick<DoneRow, 'number' | 'rows' | 'sizeBytes'>): void;
  underWay(number: number, rows: number): void;
};

/**
 * Makes the parts that are not done, and adds all parts, in their order, to the hash of the file. Every part is read
 * from the store, also those of earlier attempts; a part that is missing or damaged there is made anew.
 */
export async function makeParts(
  context: WorkContext,
  parts: readonly PartRow[],
  call: Omit<PartCall, 'onRows'> & { hash: Hash; tally: Tally },
): Promise<{ parts: DoneRow[]; hash: Hash }> {
  const failing = new AbortController();
  const signal = AbortSignal.any([call.signal, failing.signal]);
  const make = async (part: PartRow) => {
    signal.throwIfAborted();
    const onRows = (rows: number) => call.tally.underWay(part.number, rows);
    const done = await writePart(context, part, { ...call, signal, onRows });
    call.tally.done(done);
    return done;
  };
  const gate = createGate(partsAtOnce);
  const made = parts.map((part) => {
    const done = doneRow(part);
    if (done !== null) return Promise.resolve(done);
    const making = gate.run(() => make(part));
    // The loop below throws this error when it comes to the part. Until then it must not count as an unhandled
    // rejection.
    making.catch((error: unknown) => failing.abort(error));
    return making;
  });
  const done: DoneRow[] = [];
  let { hash } = call;
  try {
    for (const [at, part] of parts.entries()) {
      const row = await made[at];
      if (row === undefined) continue;
      const added = await addToHash(context, row, { hash, signal, remake: () => make(part) });
      done.push(added.row);
      hash = added.hash;
    }
    return { parts: done, hash };
  } catch (error) {
    failing.abort(error);
    // The first error is thrown: the others were caused by its abort.
    throw failing.signal.reason;
  } finally {
    // No part of this attempt may still be written when the next attempt begins.
    await Promise.allSettled(made);
  }
}

async function addToHash(
  { store, pace }: WorkContext,
  row: DoneRow,
  call: { hash: Hash; signal: AbortSignal; remake: () => Promise<DoneRow> },
): Promise<{ row: DoneRow; hash: Hash }> {
  const add = (some: DoneRow) =>
    hashObject(call.hash, refOf(some), { store, signal: call.signal, pace });
  try {
    return { row, hash: await add(row) };
  } catch (error) {
    if (!isObjectFault(error)) throw error;
    const again = await call.remake();
    return { row: again, hash: await add(again) };
  }
}

function refOf({ objectKey, sizeBytes, sha256 }: DoneRow) {
  return { key: objectKey, sizeBytes, sha256 };
}

/** The result of a part; null unless it is done. */
export function doneRow(part: PartRow): DoneRow | null {
  const { number, object_key, rows, digest, size_bytes, sha256, body_bytes, layout } = part;
  if (object_key === null || rows === null || digest === null) return null;
  if (size_bytes === null || sha256 === null || body_bytes === null) return null;
  return {
    number,
    objectKey: object_key,
    rows,
    digest,
    sizeBytes: size_bytes,
    sha256,
    bodyBytes: body_bytes,
    layout,
  };
}
