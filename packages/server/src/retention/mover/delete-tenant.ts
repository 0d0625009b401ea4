import type { StoreWait } from '../../platform/objects/store-wait.ts';
import { busy } from '../../platform/work/session-lock.ts';
import { findErasureState, listDaysToGo, listSwitched } from './erase-queries.ts';
import { journalErasure } from './erase-records.ts';
import type { DeleteRequest } from './erase-steps.ts';
import { findWholeDays } from './find-matches.ts';
import type { Move, MoverContext } from './move.ts';
import { note, nothingSofar, resumeMoves, runMove, type Sofar } from './run-move.ts';
import { scopeOfDays } from './scope.ts';
import { withTenantLock } from './tenant-lock.ts';

type TenantDelete = {
  readonly tenant: string;
  /** YYYY-MM-DD, inclusive. The policy and the run allow days up to this one. */
  readonly lastDay: string;
  readonly runId: string | null;
  /**
   * Whether days of dataset versions are deleted, too; the versions then lack records that they were frozen with.
   * Otherwise these days are kept.
   */
  readonly deleteVersioned?: boolean;
  readonly signal: AbortSignal;
  /** How to wait for the store; usually that of the run. Without it, a fault of the store is thrown at once. */
  readonly wait?: StoreWait;
};

type TenantDeleteOutcome = {
  readonly deletedCount: number;
  /** Moves that failed, for reasons that the journal tells. */
  readonly failedMoves: number;
  /** Another mover works on the tenant, so nothing was done. */
  readonly isBusy: boolean;
};

/** The most hot records that one move deletes, unless a single day has more. */
const maxHotCount = 500_000;
/** The most days that one move deletes. */
const maxDays = 4000;

/**
 * Finishes a tenant's unfinished moves, then deletes all records on days up to `lastDay`. Days of dataset versions are
 * kept, for all stores, because a tenant's days are deleted whole. Segments that lie wholly on deleted days are
 * dropped; others are written anew without these days.
 */
export async function deleteTenant(
  context: MoverContext,
  { signal, wait, ...job }: TenantDelete,
): Promise<TenantDeleteOutcome> {
  // Moves that only wait for the removal of their objects were counted by the run that switched them.
  const before = new Set(await listSwitched(context.db, job.tenant));
  const sofar = nothingSofar(wait);
  const outcome = await sofar.wait.run(() =>
    withTenantLock(context.db, job.tenant, {
      signal,
      work: (lockSignal) => deleteUnderLock(context, { ...job, signal: lockSignal }, sofar),
    }),
  );
  const results = [...sofar.results.values()].filter(({ move }) => !before.has(move.id));
  let deletedCount = 0;
  for (const { move, isSwitched } of results) {
    if (move.kind !== 'delete' || !isSwitched) continue;
    deletedCount += (await findErasureState(context.db, move))?.gone_count ?? 0;
  }
  const failedMoves = results.filter(
    ({ isSwitched, isCalledOff }) => !isSwitched && !isCalledOff,
  ).length;
  return { deletedCount, failedMoves, isBusy: outcome === busy };
}

async function deleteUnderLock(
  context: MoverContext,
  job: TenantDelete,
  sofar: Sofar,
): Promise<void> {
  const { signal } = job;
  await context.fence.advance(signal);
  await resumeMoves(context, job.tenant, { signal, sofar });
  // Each day is tried once in a run. What fails, or comes late, is left to the next run; otherwise this could go on for
  // ever.
  for (;;) {
    const move = await planDelete(context, { ...job, after: sofar.after });
    if (move === null) return;
    const result = await note(sofar, await runMove(context, move, signal));
    if (result.isCalledOff) return;
    sofar.after = move.last_day;
  }
}

/** Journals the deletion of the tenant's oldest days; null when there are none. */
async function planDelete(
  context: MoverContext,
  job: Omit<TenantDelete, 'signal' | 'wait'> & { after: string | null },
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

/** The first of these days, as many as one move takes: at least one. */
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
