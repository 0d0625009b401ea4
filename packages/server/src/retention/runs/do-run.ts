import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import type { JobKind, ShareCall } from '../../platform/jobs/runner.ts';
import type { Log } from '../../platform/log.ts';
import { isFenced } from '../../platform/objects/fence.ts';
import type { StoreWaitOptions } from '../../platform/objects/store-wait.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { isFull } from '../mover/fail.ts';
import type { TenantOutcome, TenantWork } from '../mover/move-tenant.ts';
import { type DueTenant, findWork } from '../policies/plan.ts';
import { findDueDays } from '../policies/queries.ts';
import * as queries from './queries.ts';

/** What is to be done to a tenant: its days up to `lastDay`, as long as its policy still allows it. */
export type TenantJob = ShareCall &
  Pick<TenantWork, 'tenant' | 'lastDay'> & { readonly runId: string };

/** The functions that do the work. The first two also finish what was left unfinished of the tenant. */
export type Movers = {
  /**
   * Is called by each process before its first tenant of a run, and after a fault of the store. Throws where nothing can be
   * written there.
   */
  begin?(signal: AbortSignal): Promise<void>;
  /** How many tenants are worked on at once; one by default. */
  readonly tenantsAtOnce?: number;
  moveTenant(job: TenantJob): Promise<TenantOutcome>;
  deleteTenant(job: TenantJob & { readonly deleteVersioned: boolean }): Promise<TenantOutcome>;
  /** Gives the space of hot records that have gone back to the disk. Returns how many bytes that were. */
  giveBackSpace(signal: AbortSignal): Promise<number>;
};

export type RunContext = Movers &
  Pick<StoreWaitOptions, 'now' | 'sleep'> & {
    /** Deletes history that is too old; called after each run. */
    prune(signal: AbortSignal): Promise<void>;
    readonly log: Log;
  };

/** A run: each tenant with work is a share. If one throws, the others get theirs, and the run counts as failed. */
export function createRunKind(
  db: Database,
  context: RunContext,
): JobKind<queries.StoredRun, DueTenant> {
  const { log, now, sleep } = context;
  return {
    title: 'retention run',
    table: queries.runs,
    lock: 'retentionRuns',
    atOnce: context.tenantsAtOnce,
    waiting: { now, sleep },
    async plan(connection, { id, tenant, tenants, before, delete_versioned: deleteVersioned }) {
      const found = await findWork(connection, { tenant, tenants, before, deleteVersioned });
      await queries.notePlan(connection, id, found);
      return found.tenants;
    },
    begin: async (signal) => context.begin?.(signal),
    async doShare(run, due, call) {
      const done = await doTenant(db, run, { ...context, ...call, due });
      return (connection) => queries.addProgress(connection, run.id, done);
    },
    reasonOf: toPublic,
    async finish(run, signal) {
      await queries.noteFreed(db, run.id, await giveBackSpace(context, signal));
    },
    async onEnded(signal) {
      await context.prune(signal).catch((err: unknown) => {
        signal.throwIfAborted();
        log.warn({ err }, 'what is too old could not be removed; the next run tries again');
      });
    },
  };
}

/** Gives space back, also after a run that failed: its moves may have freed some. An error here fails no run. */
async function giveBackSpace(context: RunContext, signal: AbortSignal): Promise<number> {
  try {
    return await context.giveBackSpace(signal);
  } catch (error) {
    signal.throwIfAborted();
    context.log.warn({ err: error }, 'hot space could not be given back; the next run tries again');
    return 0;
  }
}

const nothing: queries.RunProgress = {
  movedCount: 0,
  movedBytes: 0,
  deletedCount: 0,
  failedMoves: 0,
  busyTenants: 0,
  failure: null,
};

function addOutcome(
  done: queries.RunProgress,
  { isBusy, ...outcome }: TenantOutcome,
): queries.RunProgress {
  return {
    ...done,
    movedCount: done.movedCount + outcome.movedCount,
    movedBytes: done.movedBytes + outcome.movedBytes,
    deletedCount: done.deletedCount + outcome.deletedCount,
    failedMoves: done.failedMoves + outcome.failedMoves,
    busyTenants: isBusy ? 1 : 0,
  };
}

type TenantCall = ShareCall & { readonly due: DueTenant };

/** Does the work on one tenant. Throws only what ends the run, or interrupts it. */
async function doTenant(
  db: Database,
  run: queries.StoredRun,
  context: RunContext & TenantCall,
): Promise<queries.RunProgress> {
  const { due, log, signal } = context;
  try {
    return await moveAndDelete(db, run, context);
  } catch (error) {
    if (signal.aborted || endsRun(error)) throw error;
    // Where it is one object that cannot be read, the store itself answers, and other tenants can be worked on.
    if (error instanceof AppError && error.code === 'cold_tier_unavailable') {
      await context.begin?.(signal);
    }
    log.error({ err: error, run: run.id, tenant: due.tenant }, 'retention of a tenant failed');
    return { ...nothing, failure: `${JSON.stringify(due.tenant)}: ${toPublic(error)}` };
  }
}

/** Deletions come first, so that nothing is made cold that is deleted right afterwards. */
async function moveAndDelete(
  db: Database,
  run: queries.StoredRun,
  context: Movers & TenantCall,
): Promise<queries.RunProgress> {
  const { due, session, signal, wait } = context;
  const { tenant } = due;
  // The policy is read again for each tenant, because a run may take hours and policies change meanwhile.
  const days = await findDueDays(db, tenant, run.before);
  if (days.hold) return nothing;
  const job = { tenant, runId: run.id, session, signal, wait };
  let done = nothing;
  if (due.has_deletes && days.lastDeleteDay !== null) {
    const deletion = { lastDay: days.lastDeleteDay, deleteVersioned: run.delete_versioned };
    done = addOutcome(done, await context.deleteTenant({ ...job, ...deletion }));
    signal.throwIfAborted();
  }
  // Where nothing is deleted any more, this ends a deletion that was left open.
  const isWanted = due.has_moves || days.lastDeleteDay === null;
  if (!isWanted || done.busyTenants > 0) return done;
  return addOutcome(done, await context.moveTenant({ ...job, lastDay: days.lastMoveDay }));
}

/** Whether an error would meet all other tenants, too. */
function endsRun(error: unknown): boolean {
  return isDatabaseAway(error) || isFenced(error) || isFull(error);
}

/** The text of an error that callers may see. Details of an unexpected error are only logged. */
function toPublic(error: unknown): string {
  return error instanceof AppError
    ? error.detail
    : 'An unexpected fault; the log of the process with the role retention tells it.';
}
