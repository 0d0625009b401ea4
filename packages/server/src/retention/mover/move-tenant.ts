import type { StoreWait } from '../../platform/objects/store-wait.ts';
import type { Session } from '../../platform/postgres/database.ts';
import { busy } from '../../platform/work/session-lock.ts';
import { planCompact } from './compact.ts';
import type { MoverContext } from './move.ts';
import { planMove } from './plan-move.ts';
import {
  type MoveResult,
  note,
  nothingSofar,
  resumeMoves,
  runMove,
  type Sofar,
} from './run-move.ts';
import { withTenantLock } from './tenant-lock.ts';

export type TenantMove = {
  readonly tenant: string;
  /** YYYY-MM-DD, inclusive. The policy and the run allow days up to this one. */
  readonly lastDay: string;
  readonly runId: string | null;
  readonly signal: AbortSignal;
  /** Holds the lock on the tenant, if given; see `withTenantLock`. It costs a connection otherwise. */
  readonly session?: Session;
  /** How to wait for the store; usually that of the run. Without it, a fault of the store is thrown at once. */
  readonly wait?: StoreWait;
};

export type TenantMoveOutcome = {
  readonly movedCount: number;
  readonly movedBytes: number;
  /** Moves that failed, for reasons that the journal tells. Those that a policy called off do not count. */
  readonly failedMoves: number;
  /** Another mover works on the tenant, so nothing was done. */
  readonly isBusy: boolean;
};

const nothing = { movedCount: 0, movedBytes: 0, failedMoves: 0 };

/**
 * Finishes a tenant's unfinished moves, then moves what is due, the oldest days first, then merges small segments. Only
 * one mover works on a tenant at a time, over all processes. The caller has advanced the fence, so that of two copies of
 * a database one is stopped before it writes anything.
 */
export async function moveTenant(
  context: MoverContext,
  { signal, session, wait, ...job }: TenantMove,
): Promise<TenantMoveOutcome> {
  const sofar = nothingSofar(wait);
  const outcome = await sofar.wait.run(() =>
    withTenantLock(context.db, job.tenant, {
      signal,
      session,
      work: (lockSignal) => moveUnderLock(context, { ...job, signal: lockSignal }, sofar),
    }),
  );
  return { ...[...sofar.results.values()].reduce(addResult, nothing), isBusy: outcome === busy };
}

async function moveUnderLock(
  context: MoverContext,
  { tenant, runId, lastDay, signal }: TenantMove,
  sofar: Sofar,
): Promise<void> {
  await resumeMoves(context, tenant, { signal, sofar });
  // Each day is tried once in a run. What fails, or comes late, is left to the next run; otherwise this could go on for
  // ever.
  for (;;) {
    const { after } = sofar;
    const move = await planMove(context, { tenant, runId, lastDay, after });
    if (move === null) break;
    const result = await note(sofar, await runMove(context, move, signal));
    // Whatever is due after this move would be called off for the same reason.
    if (result.isCalledOff) return;
    sofar.after = move.last_day;
  }
  // Merges small segments until there is nothing to merge. Each merge leaves fewer segments, so this ends. It stops at
  // one that fails, which would fail again.
  for (;;) {
    const move = await planCompact(context, { tenant, runId });
    if (move === null) return;
    const result = await note(sofar, await runMove(context, move, signal));
    if (!result.isSwitched) return;
  }
}

function addResult(
  sum: typeof nothing,
  { move, isSwitched, isCalledOff, written }: MoveResult,
): typeof nothing {
  const isMove = move.kind === 'move' && isSwitched;
  return {
    movedCount: sum.movedCount + (isMove ? written.count : 0),
    movedBytes: sum.movedBytes + (isMove ? written.bytes : 0),
    failedMoves: sum.failedMoves + (isSwitched || isCalledOff ? 0 : 1),
  };
}
