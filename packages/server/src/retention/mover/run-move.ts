import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sumTriples, type Triple } from '../../records/index.ts';
import { cleanUp } from './clean-up.ts';
import type { MoverContext } from './context.ts';
import { copyMove } from './copy.ts';
import { failMove, MoveFault, noteFull } from './fail.ts';
import type { MoveWork, VerifiedSegment } from './kinds.ts';
import type { Move } from './move.ts';
import { isFull } from './passing-fault.ts';
import { listMoveDays, listMoveSegments } from './queries.ts';
import { switchMove } from './switch.ts';
import { readBack, verifyCopy } from './verify-copy.ts';

export type MoveResult = {
  readonly move: Move;
  /** Whether the move is done, as far as readers are concerned; false = failed, told by the journal. */
  readonly isSwitched: boolean;
  /** Whether it did not fail by damage, but because policies do not let it happen any more. */
  readonly isCalledOff: boolean;
  /** What lies in its new segments. */
  readonly written: Triple;
};

/**
 * Brings a move of this runner from whatever state it is in to its end. The caller holds the tenant's lock. A
 * move whose data is not what it should be fails and says so in the journal; faults that pass (database,
 * store, abort) are thrown, and the move goes on from the last state that was committed. A full store is thrown
 * too, and told by the journal.
 */
export async function runMove(
  context: MoverContext,
  move: Move,
  signal: AbortSignal,
): Promise<MoveResult> {
  const dir = join(context.spoolDir, move.id);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  try {
    return await runIn(context, await openWork(context, move, { dir, signal }));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function runIn(context: MoverContext, begun: MoveWork): Promise<MoveResult> {
  let work = begun;
  let segments: readonly VerifiedSegment[] | null = null;
  try {
    for (;;) {
      work.signal.throwIfAborted();
      switch (work.move.state) {
        case 'planned':
          work = await copyMove(context, work);
          break;
        case 'copied': {
          const verified = await verifyCopy(context, work);
          ({ work, segments } = verified);
          break;
        }
        case 'verified':
          // After a restart the copies that were read back are gone.
          segments ??= await readBack(context, work);
          // After its content was settled: a copy of the database that may write from now on either knows
          // this move, or had no part of what the objects hold taken away. See platform/objects/fence.ts.
          if (work.in.length + work.out.length > 0) await context.fence.advance(work.signal);
          work = await switchMove(context, work, segments);
          break;
        case 'switched':
          work = await cleanUp(context, work);
          return await resultOf(context, work.move);
        case 'removed':
          return await resultOf(context, work.move);
        case 'failed':
          return notSwitched(work.move, false);
      }
    }
  } catch (error) {
    if (!(error instanceof MoveFault)) {
      // A stream that is aborted does not tell why.
      work.signal.throwIfAborted();
      if (isFull(error)) await noteFull(context, work, error);
      throw error;
    }
    const move = await failMove(context, work, error);
    return notSwitched(move, !error.isDamage);
  }
}

async function openWork(
  { db }: MoverContext,
  move: Move,
  options: { dir: string; signal: AbortSignal },
): Promise<MoveWork> {
  return {
    move,
    in: await listMoveSegments(db, move, 'in'),
    out: await listMoveSegments(db, move, 'out'),
    ...options,
  };
}

async function resultOf({ db }: MoverContext, move: Move): Promise<MoveResult> {
  const written = sumTriples(await listMoveDays(db, move));
  return { move, isSwitched: true, isCalledOff: false, written };
}

function notSwitched(move: Move, isCalledOff: boolean): MoveResult {
  return { move, isSwitched: false, isCalledOff, written: sumTriples([]) };
}
