import { busy } from '../../platform/work/session-lock.ts';
import { planCompact } from './compact.ts';
import type { MoverContext } from './move.ts';
import { planMove } from './plan-move.ts';
import { type MoveResult, resumeMoves, runMove } from './run-move.ts';
import { withTenantLock } from './tenant-lock.ts';

export type TenantMove = {
  readonly tenant: string;
  /** YYYY-MM-DD, inclusive: what the policy and the run let move. */
  readonly lastDay: string;
  readonly runId: string | null;
  readonly signal: AbortSignal;
};

export type TenantMoveOutcome = {
  readonly movedCount: number;
  readonly movedBytes: number;
  /** Moves that failed and are told by the journal; not those that a policy called off. */
  readonly failedMoves: number;
  /** Another mover holds the tenant: nothing was done. */
  readonly isBusy: boolean;
};

const nothing = { movedCount: 0, movedBytes: 0, failedMoves: 0 };

/**
 * Finishes a tenant's unfinished moves, moves what is due, oldest days first, then merges small segments.
 * One mover a tenant at a time, in however many processes.
 */
export async function moveTenant(
  context: MoverContext,
  { signal, ...job }: TenantMove,
): Promise<TenantMoveOutcome> {
  const outcome = await withTenantLock(context.db, job.tenant, {
    signal,
    work: (lockSignal) => moveUnderLock(context, { ...job, signal: lockSignal }),
  });
  return outcome === busy ? { ...nothing, isBusy: true } : { ...outcome, isBusy: false };
}

async function moveUnderLock(
  context: MoverContext,
  job: TenantMove,
): Promise<Omit<TenantMoveOutcome, 'isBusy'>> {
  const { tenant, runId, lastDay, signal } = job;
  // Of two copies of the database one is told here, before it writes for nothing.
  await context.fence.advance(signal);
  const results = await resumeMoves(context, tenant, signal);
  // Each day once a run: what fails, and what comes late while it runs, is for the next one.
  for (let after: string | null = null; ; ) {
    const move = await planMove(context, { tenant, runId, lastDay, after });
    if (move === null) break;
    const result = await runMove(context, move, signal);
    results.push(result);
    // Whatever is due after it would be called off as well.
    if (result.isCalledOff) return results.reduce(addResult, nothing);
    after = move.last_day;
  }
  results.push(...(await compact(context, job)));
  return results.reduce(addResult, nothing);
}

/** Each merge leaves fewer segments; one that fails would fail again. */
async function compact(
  context: MoverContext,
  { tenant, runId, signal }: TenantMove,
): Promise<MoveResult[]> {
  const results: MoveResult[] = [];
  for (;;) {
    const move = await planCompact(context, { tenant, runId });
    if (move === null) return results;
    const result = await runMove(context, move, signal);
    results.push(result);
    if (!result.isSwitched) return results;
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
