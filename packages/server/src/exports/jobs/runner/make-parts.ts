import type { Hash } from 'node:crypto';
import { createGate } from '../../../kernel/gate.ts';
import { isObjectFault } from '../../../platform/objects/objects.ts';
import type { WorkContext } from './context.ts';
import { hashObject } from './finish.ts';
import type { DoneRow, PartRow } from './queries.ts';
import { type PartCall, writePart } from './write-part.ts';

/** Of one job: one is encoded, one is read back, one is on its way to the disk. */
const partsAtOnce = 3;

/** How far the parts are: done ones, and rows of those under way. */
export type Tally = {
  done(part: Pick<DoneRow, 'number' | 'rows' | 'sizeBytes'>): void;
  underWay(number: number, rows: number): void;
};

/**
 * Makes the parts that are not done, and adds all of them, in their order, to the hash of the file: as
 * they lie in the store, also those of earlier attempts, which are made anew when they do not any more.
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
    // Told to whoever comes to it in the order of the file; until then it is no fault of the process.
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
    // What failed first: the others were cut off by it, and say something else.
    throw failing.signal.reason;
  } finally {
    // Nothing of this attempt may go on when the next one begins.
    await Promise.allSettled(made);
  }
}

async function addToHash(
  { store, source }: WorkContext,
  row: DoneRow,
  call: { hash: Hash; signal: AbortSignal; remake: () => Promise<DoneRow> },
): Promise<{ row: DoneRow; hash: Hash }> {
  const add = (some: DoneRow) =>
    hashObject(call.hash, refOf(some), {
      store,
      spoolDir: source.spoolDir,
      signal: call.signal,
    });
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

/** Null unless the part is done. */
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
