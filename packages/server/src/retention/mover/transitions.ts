import { stat } from 'node:fs/promises';
import { isObjectFault } from '../../platform/objects/objects.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import { hashFile } from '../../platform/thread-hash.ts';
import { type DayTriple, lockRemovals, SourceChanged, sumTriples } from '../../records/segments.ts';
import { findDueDays } from '../policies/queries.ts';
import type { MoveKind } from '../values.ts';
import { compactKind } from './compact.ts';
import { deleteKind, eraseKind, forgetKind } from './erase-steps.ts';
import { MoveFault, refuseHold } from './fail.ts';
import { importKind } from './import-steps.ts';
import { takeTransition } from './journal.ts';
import type { Copied, KindSteps, Move, MoverContext, MoveWork, VerifiedSegment } from './move.ts';
import { moveKind } from './move-hot-days.ts';
import {
  deleteOutSegments,
  insertMoveDays,
  listMoveSegments,
  lockPolicies,
  noteHeld,
  queueRemovals,
  setEffects,
  setState,
  setWritten,
} from './queries.ts';

type Written = { segment_id: string; object_key: string; size_bytes: number; sha256: Buffer };

/** planned → copied: the new objects are in the store and durable, and the journal says what they must hold. */
export async function copyMove(context: MoverContext, work: MoveWork): Promise<MoveWork> {
  const { move } = work;
  refuseHold(await findDueDays(context.db, move.tenant));
  const copied = await copy(context, work);
  // The copy may have named more segments than the move was planned with.
  const isPlanned = copied.files.length <= work.out.length;
  const out = isPlanned ? work.out : await listMoveSegments(context.db, move, 'out');
  const written: Written[] = [];
  for (const { segment_id, path } of copied.files) {
    const segment = out.find((row) => row.segment_id === segment_id);
    if (segment === undefined) throw new Error(`the move ${move.id} has no segment ${segment_id}`);
    const { size } = await stat(path);
    const sha256 = await hashFile(path, { signal: work.signal });
    await context.store.put(segment.object_key, path, work.signal);
    written.push({ ...segment, size_bytes: size, sha256 });
  }
  const next = await takeTransition(context, move, {
    to: 'copied',
    async change(connection) {
      if (written.length < out.length) {
        const ids = written.map((segment) => segment.segment_id);
        await deleteOutSegments(connection, move, ids);
      }
      for (const segment of written) await setWritten(connection, move, segment);
      await insertMoveDays(connection, move, copied.days);
      const storedBytes = written.reduce((sum, segment) => sum + segment.size_bytes, 0);
      const triple = sumTriples(copied.days);
      await setState(connection, move, { state: 'copied', triple, storedBytes });
    },
  });
  return { ...work, move: next, out: written };
}

/** Copies the source. A segment of the cold tier that is damaged ends the move: another try would find it so again. */
async function copy(context: MoverContext, work: MoveWork): Promise<Copied> {
  try {
    return await stepsOf(work.move).copy(context, work);
  } catch (error) {
    if (isObjectFault(error)) {
      throw new MoveFault(
        'segment_damaged',
        `A segment that the move reads cannot be trusted: ${error.message}. Run retention verify.`,
        error,
      );
    }
    throw error;
  }
}

/**
 * verified → switched: changes the catalogue, hot rows, counters and journal in one transaction. Policies are asked
 * last and stay locked until the commit, so that a legal hold which was acknowledged before the commit stops the
 * switch.
 */
export async function switchMove(
  context: MoverContext,
  work: MoveWork,
  segments: readonly VerifiedSegment[],
): Promise<MoveWork> {
  const { move } = work;
  const steps = stepsOf(move);
  const next = await takeTransition(context, move, {
    to: 'switched',
    async change(connection) {
      // This lock comes before all others. A version that is being frozen at the moment is then either known here, or
      // is made without the records that are removed here, or with those that are added.
      if (steps.gone !== undefined || move.kind === 'import')
        await lockRemovals(connection, move.tenant);
      // Nobody is to read again what had erased records, nor can what was lost be read.
      const isReadable = move.kind !== 'erase' && move.kind !== 'forget';
      if (isReadable && work.in.length > 0) await noteHeld(connection, move);
      const gone = await steps
        .switch(connection, { context, work, segments })
        .catch((error: unknown) => {
          throw error instanceof SourceChanged ? sourceChanged(error) : error;
        });
      const keys = work.in.map(({ object_key }) => object_key);
      const { graceSeconds } = context;
      if (keys.length > 0) await queueRemovals(connection, move, { keys, graceSeconds });
      await setState(connection, move, { state: 'switched', triple: sumTriples(gone) });
      await tellGone(context, connection, { move, days: gone });
      await lockPolicies(connection);
      const due = await findDueDays(connection, move.tenant);
      refuseHold(due);
      await steps.refuse?.(connection, move, due);
    },
  });
  const { tenant, id, kind } = move;
  context.log.debug({ tenant, move: id, kind }, 'a move is switched');
  return { ...work, move: next };
}

/** Tells others which records leave for good, and journals what else changes by it. Only policies are asked later. */
async function tellGone(
  { onGone }: MoverContext,
  connection: Connection,
  { move, days }: { move: Move; days: readonly DayTriple[] },
): Promise<void> {
  const gone = stepsOf(move).gone?.(move, days);
  if (gone === undefined || onGone === undefined) return;
  await setEffects(connection, move, await onGone(connection, gone));
}

function sourceChanged(cause: SourceChanged): MoveFault {
  return new MoveFault(
    'source_changed',
    `What was copied is not what is there now: ${cause.message} The next run begins anew.`,
    cause,
  );
}

/** The steps that differ by the kind of a move. */
export function stepsOf({ kind }: Move): KindSteps {
  return stepsOfKinds[kind];
}

const stepsOfKinds: Record<MoveKind, KindSteps> = {
  move: moveKind,
  compact: compactKind,
  delete: deleteKind,
  erase: eraseKind,
  forget: forgetKind,
  import: importKind,
};
