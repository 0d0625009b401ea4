import { busy } from '../../platform/work/session-lock.ts';
import { findErasureState, listDaysToGo, listSwitched } from './erase-queries.ts';
import { journalErasure } from './erase-records.ts';
import type { DeleteRequest } from './erase-steps.ts';
import { findWholeDays } from './find-matches.ts';
import type { Move, MoverContext } from './move.ts';
import { type MoveResult, resumeMoves, runMove } from './run-move.ts';
import { scopeOfDays } from './scope.ts';
import { withTenantLock } from './tenant-lock.ts';

type TenantDelete = {
  readonly tenant: string;
  /** YYYY-MM-DD, inclusive: what the policy and the run let go. */
  readonly lastDay: string;
  readonly runId: string | null;
  /** Days of dataset versions go too, which then have less than was frozen; else they are left alone. */
  readonly deleteVersioned?: boolean;
  readonly signal: AbortSignal;
};

type TenantDeleteOutcome = {
  readonly deletedCount: number;
  /** Moves that failed and are told by the journal. */
  readonly failedMoves: number;
  /** Another mover holds the tenant: nothing was done. */
  readonly isBusy: boolean;
};

/** Hot records that one move deletes at most, unless a single day has more. */
const maxHotCount = 500_000;
/** Days that one move deletes at most. */
const maxDays = 4000;

/**
 * Finishes a tenant's unfinished moves, then lets all records go on days up to `lastDay`, but for days of
 * dataset versions, which keep those of all stores: whole days of a tenant go. Segments that lie wholly on
 * these days just go, others are written anew without them.
 */
export async function deleteTenant(
  context: MoverContext,
  { signal, ...job }: TenantDelete,
): Promise<TenantDeleteOutcome> {
  const results = await withTenantLock(context.db, job.tenant, {
    signal,
    work: (lockSignal) => deleteUnderLock(context, { ...job, signal: lockSignal }),
  });
  if (results === busy) return { deletedCount: 0, failedMoves: 0, isBusy: true };
  let deletedCount = 0;
  for (const { move, isSwitched } of results) {
    if (move.kind !== 'delete' || !isSwitched) continue;
    deletedCount += (await findErasureState(context.db, move))?.gone_count ?? 0;
  }
  const failedMoves = results.filter(
    ({ isSwitched, isCalledOff }) => !isSwitched && !isCalledOff,
  ).length;
  return { deletedCount, failedMoves, isBusy: false };
}

async function deleteUnderLock(context: MoverContext, job: TenantDelete): Promise<MoveResult[]> {
  await context.fence.advance(job.signal);
  const done = new Set(await listSwitched(context.db, job.tenant));
  const resumed = await resumeMoves(context, job.tenant, job.signal);
  // Those that only wait for the removal of objects were counted by the run that switched them.
  const results = resumed.filter(({ move }) => !done.has(move.id));
  // Each day once a run: what fails, and what comes late while it runs, is for the next one.
  for (let after: string | null = null; ; ) {
    const move = await planDelete(context, { ...job, after });
    if (move === null) return results;
    const result = await runMove(context, move, job.signal);
    results.push(result);
    if (result.isCalledOff) return results;
    after = move.last_day;
  }
}

/** Journals the deletion of the tenant's oldest days; null when there are none. */
async function planDelete(
  context: MoverContext,
  job: Omit<TenantDelete, 'signal'> & { after: string | null },
): Promise<Move | null> {
  const { tenant, lastDay, runId, after, deleteVersioned = false } = job;
  const page = { after, lastDay, limit: maxDays, deleteVersioned };
  const days = chunkDays(await listDaysToGo(context.db, tenant, page), maxHotCount);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const request: DeleteRequest | undefined = deleteVersioned
    ? { delete_versioned: true }
    : undefined;
  const matches = await findWholeDays(context.db, scopeOfDays(tenant, first.day, last.day));
  const range = { firstDay: first.day, lastDay: last.day };
  return journalErasure(context, { tenant, runId, kind: 'delete', ...range, request, matches });
}

/** The first of the days, as many as one move takes. */
export function chunkDays<Day extends { hot_count: number }>(
  days: readonly Day[],
  maxCount: number,
): readonly Day[] {
  let count = 0;
  const end = days.findIndex((day) => {
    count += day.hot_count;
    return count > maxCount;
  });
  return end === -1 ? days : days.slice(0, Math.max(1, end));
}
