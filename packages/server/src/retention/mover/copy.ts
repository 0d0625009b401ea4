import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ObjectDamaged, ObjectMissing } from '../../platform/objects/objects.ts';
import { sumTriples } from '../../records/index.ts';
import { takeArrow } from './arrow.ts';
import type { MoverContext } from './context.ts';
import { MoveFault } from './fail.ts';
import type { Copied, MoveWork } from './kinds.ts';
import { toPassingFault } from './passing-fault.ts';
import {
  deleteOutSegments,
  insertMoveDays,
  listMoveSegments,
  setCopied,
  setWritten,
} from './queries.ts';
import { refuseHold } from './refuse.ts';
import { stepsOf } from './steps.ts';

type Written = { segment_id: string; object_key: string; size_bytes: number; sha256: Buffer };

/** planned → copied: the new objects are in the store, durable, and the journal knows what they must hold. */
export async function copyMove(context: MoverContext, work: MoveWork): Promise<MoveWork> {
  const { move } = work;
  await refuseHold(context.db, move);
  const copied = await copy(context, work);
  // The kind may have named more of them meanwhile.
  const out = await listMoveSegments(context.db, move, 'out');
  const written: Written[] = [];
  for (const { segment_id, path } of copied.files) {
    const segment = out.find((row) => row.segment_id === segment_id);
    if (segment === undefined) throw new Error(`the move ${move.id} has no segment ${segment_id}`);
    const { size } = await stat(path);
    const sha256 = await hashFile(path, work.signal);
    await context.store.put(segment.object_key, path, work.signal);
    written.push({ ...segment, size_bytes: size, sha256 });
  }
  const next = await takeArrow(context, move, {
    to: 'copied',
    async change(connection) {
      await deleteOutSegments(
        connection,
        move,
        written.map((segment) => segment.segment_id),
      );
      for (const { segment_id: segmentId, size_bytes: sizeBytes, sha256 } of written) {
        await setWritten(connection, move, { segmentId, sizeBytes, sha256 });
      }
      await insertMoveDays(connection, move, copied.days);
      const storedBytes = written.reduce((sum, segment) => sum + segment.size_bytes, 0);
      await setCopied(connection, move, { ...sumTriples(copied.days), storedBytes });
    },
  });
  return { ...work, move: next, out: written };
}

/** Reads the source. One in the cold tier that is damaged ends the move. */
async function copy(context: MoverContext, work: MoveWork): Promise<Copied> {
  try {
    return await stepsOf(work.move).copy(context, work);
  } catch (error) {
    if (error instanceof ObjectMissing || error instanceof ObjectDamaged) {
      throw new MoveFault(
        'segment_damaged',
        `A segment that the move reads cannot be trusted: ${error.message}. Run retention verify.`,
        error,
      );
    }
    work.signal.throwIfAborted();
    throw toPassingFault(error, work.dir);
  }
}

async function hashFile(path: string, signal: AbortSignal): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal, highWaterMark: 256 * 1024 })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest();
}
