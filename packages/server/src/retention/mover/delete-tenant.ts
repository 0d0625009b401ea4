import { listDaysToGo } from './erase-queries.ts';
import { journalErasure } from './erase-records.ts';
import type { DeleteRequest } from './erase-steps.ts';
import { findWholeDays } from './find-matches.ts';
import { firstDays } from './journal.ts';
import type { Move, MoverContext } from './move.ts';
import { runEach, type TenantOutcome, type TenantWork, workOnTenant } from './move-tenant.ts';
import { resumeMoves, type Sofar } from './run-move.ts';
import { scopeOfDays } from './scope.ts';

type TenantDelete = TenantWork & {
  /** Whether days of dataset versions are deleted, too, which then lack records; otherwise they are kept. */
  readonly deleteVersioned?: boolean;
};

/**
 * The most hot records and days of stores that one move deletes, unless a single day has more. It holds the days of
 * stores in memory: 40,000 of them took 50 MB.
 */
const mostDeleted = { count: 500_000, stores: 50_000 };
/** The most days that one move deletes. */
const maxDays = 4000;

/**
 * Finishes a tenant's unfinished moves, then deletes all records on days up to `lastDay`. Days of dataset versions are
 * kept, for all stores, because a tenant's days are deleted whole. Segments that lie wholly on deleted days are
 * dropped; others are written anew without these days.
 */
export async function deleteTenant(
  context: MoverContext,
  job: TenantDelete,
): Promise<TenantOutcome> {
  const { tenant } = job;
  const work = async (signal: AbortSignal, sofar: Sofar) => {
    await context.fence.advance(signal);
    await resumeMoves(context, tenant, { signal, sofar });
    await runEach(context, { signal, sofar }, (after) => planDelete(context, { ...job, after }));
  };
  return workOnTenant(context, job, work);
}

/** Journals the deletion of the tenant's oldest days; null when there are none. */
async function planDelete(
  context: MoverContext,
  job: TenantDelete & { after: string | null },
): Promise<Move | null> {
  const { tenant, lastDay, runId, after, deleteVersioned = false } = job;
  const page = { after, lastDay, limit: maxDays, deleteVersioned };
  const days = firstDays(await listDaysToGo(context.db, tenant, page), mostDeleted);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const request: DeleteRequest | undefined = deleteVersioned
    ? { delete_versioned: true }
    : undefined;
  const matches = await findWholeDays(context.db, scopeOfDays(tenant, first.day, last.day));
  const range = { firstDay: first.day, lastDay: last.day };
  return journalErasure(context, { tenant, runId, kind: 'delete', ...range, request, matches });
}
