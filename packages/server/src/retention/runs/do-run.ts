import { AppError } from '../../kernel/errors.ts';
import type { Log } from '../../platform/log.ts';
import { isFenced } from '../../platform/objects/fence.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { countDue, findDueDays } from '../policies/plan.ts';
import { type DueTenant, listDueTenants } from '../policies/queries.ts';
import * as queries from './queries.ts';

/** What is to be done to a tenant: its days up to `lastDay`, as long as its policy still allows it. */
export type TenantJob = {
  readonly tenant: string;
  /** The last day as YYYY-MM-DD. It is itself moved or deleted. */
  readonly lastDay: string;
  readonly runId: string;
  readonly signal: AbortSignal;
};

export type MoveOutcome = {
  readonly movedCount: number;
  readonly movedBytes: number;
  /** Moves that failed, for reasons that the journal tells. They do not end the run. */
  readonly failedMoves: number;
  /** Another mover works on the tenant, so nothing was done. */
  readonly isBusy: boolean;
};
export type DeleteOutcome = {
  readonly deletedCount: number;
  readonly failedMoves: number;
  readonly isBusy: boolean;
};

/** The functions that do the work. The first two also finish what was left unfinished of the tenant. */
export type Movers = {
  moveTenant(job: TenantJob): Promise<MoveOutcome>;
  deleteTenant(job: TenantJob & { readonly deleteVersioned: boolean }): Promise<DeleteOutcome>;
  /** Gives the space of hot records that have gone back to the disk. Returns how many bytes that were. */
  giveBackSpace(signal: AbortSignal): Promise<number>;
};

export type RunContext = Movers & { readonly log: Log; readonly signal: AbortSignal };

/** How many tenants with work are read at once. */
const tenantsAtOnce = 100;

/**
 * Does a run: each tenant that has work once, in order. If the work on a tenant throws, the others still get theirs,
 * but the run counts as failed. When the run is aborted or the database cannot be reached, this throws and leaves the
 * run as it is, so that it can be taken up again.
 */
export async function doRun(
  db: Database,
  run: queries.StoredRun,
  context: RunContext,
): Promise<void> {
  const { log, signal } = context;
  let failure: string | null = null;
  try {
    failure = await doTenants(db, run, context);
  } catch (error) {
    signal.throwIfAborted();
    if (mustWait(error)) throw error;
    log.error({ err: error, run: run.id }, 'a retention run failed');
    failure = toPublic(error);
  }
  signal.throwIfAborted();
  const freedBytes = await giveBackSpace(context);
  await queries.finishRun(db, run.id, { error: failure, freedBytes });
  log.info({ run: run.id, failure }, 'a retention run ended');
}

/**
 * Gives space back also after a run that failed, since its moves may have freed some. An error here does not fail the
 * run.
 */
async function giveBackSpace(context: RunContext): Promise<number> {
  const { log, signal } = context;
  try {
    return await context.giveBackSpace(signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, 'hot space could not be given back; the next run tries again');
    return 0;
  }
}

async function doTenants(
  db: Database,
  run: queries.StoredRun,
  context: RunContext,
): Promise<string | null> {
  const { log, signal } = context;
  const { tenant, tenants, before, delete_versioned: deleteVersioned } = run;
  const scope = { tenant, tenants, before, deleteVersioned };
  await queries.setTotal(db, run.id, await countDue(db, scope));
  let failure: string | null = null;
  let after = '';
  for (;;) {
    const page = await listDueTenants(db, scope, { after, limit: tenantsAtOnce });
    for (const due of page) {
      signal.throwIfAborted();
      try {
        await queries.addProgress(db, run.id, await doTenant(db, run, { ...context, due }));
      } catch (error) {
        if (signal.aborted || endsRun(error)) throw error;
        log.error({ err: error, run: run.id, tenant: due.tenant }, 'retention of a tenant failed');
        failure ??= `${JSON.stringify(due.tenant)}: ${toPublic(error)}`;
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < tenantsAtOnce) return failure;
    after = last.tenant;
  }
}

/** Does the work on one tenant. Deletions come first, so that nothing is made cold that is deleted right afterwards. */
async function doTenant(
  db: Database,
  run: queries.StoredRun,
  context: Movers & { due: DueTenant; signal: AbortSignal },
): Promise<queries.RunProgress> {
  const { due, signal } = context;
  const { tenant } = due;
  const done = { movedCount: 0, movedBytes: 0, deletedCount: 0, failedMoves: 0, busyTenants: 0 };
  // The policy is read again for each tenant, because a run may take hours and policies change meanwhile.
  const days = await findDueDays(db, tenant, run.before);
  if (days.hold) return done;
  const job = { tenant, runId: run.id, signal };
  if (due.has_deletes && days.lastDeleteDay !== null) {
    const outcome = await context.deleteTenant({
      ...job,
      lastDay: days.lastDeleteDay,
      deleteVersioned: run.delete_versioned,
    });
    if (outcome.isBusy) return { ...done, busyTenants: 1 };
    done.deletedCount = outcome.deletedCount;
    done.failedMoves = outcome.failedMoves;
    signal.throwIfAborted();
  }
  if (!due.has_moves) return done;
  const outcome = await context.moveTenant({ ...job, lastDay: days.lastMoveDay });
  return {
    ...done,
    movedCount: outcome.movedCount,
    movedBytes: outcome.movedBytes,
    failedMoves: done.failedMoves + outcome.failedMoves,
    busyTenants: outcome.isBusy ? 1 : 0,
  };
}

/** Whether an error would meet all other tenants, too. */
function endsRun(error: unknown): boolean {
  if (mustWait(error) || isFenced(error)) return true;
  return error instanceof AppError && error.code === 'cold_tier_unavailable';
}

/** Whether the run has to wait for the database, and is taken up again later. */
function mustWait(error: unknown): boolean {
  return error instanceof AppError && error.code === 'database_unavailable';
}

/** The text of an error that callers may see. Details of an unexpected error are only logged. */
function toPublic(error: unknown): string {
  return error instanceof AppError
    ? error.detail
    : 'An unexpected fault; the log of the process with the role retention tells it.';
}
