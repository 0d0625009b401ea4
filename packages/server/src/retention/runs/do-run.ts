import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import type { Log } from '../../platform/log.ts';
import { isFenced } from '../../platform/objects/fence.ts';
import {
  createStoreWait,
  type StoreWait,
  type StoreWaitOptions,
} from '../../platform/objects/store-wait.ts';
import type { Connection, Database, Session } from '../../platform/postgres/database.ts';
import { addShares, doShares, dropShares, endShares } from '../../platform/postgres/shares.ts';
import { type DueTenant, findDueDays, findWork } from '../policies/plan.ts';
import * as queries from './queries.ts';

/** What is to be done to a tenant: its days up to `lastDay`, as long as its policy still allows it. */
export type TenantJob = {
  readonly tenant: string;
  /** The last day as YYYY-MM-DD. It is itself moved or deleted. */
  readonly lastDay: string;
  readonly runId: string;
  readonly signal: AbortSignal;
  /** The session of the run, which may hold the locks on its tenants, too. When it is lost, the signal aborts. */
  readonly session: Session;
  /** How the run waits for its store. */
  readonly wait: StoreWait;
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
  /** Is called once by each process, before its first tenant of a run. */
  begin?(signal: AbortSignal): Promise<void>;
  /** How many tenants are worked on at once; one by default. */
  readonly tenantsAtOnce?: number;
  moveTenant(job: TenantJob): Promise<MoveOutcome>;
  deleteTenant(job: TenantJob & { readonly deleteVersioned: boolean }): Promise<DeleteOutcome>;
  /** Gives the space of hot records that have gone back to the disk. Returns how many bytes that were. */
  giveBackSpace(signal: AbortSignal): Promise<number>;
};

export type RunContext = Movers &
  Pick<StoreWaitOptions, 'now' | 'sleep'> & {
    readonly log: Log;
    /** Its locks say which tenants this process works on. When it is lost, the signal aborts. */
    readonly session: Session;
    readonly signal: AbortSignal;
  };

/**
 * Takes the run to work on, and finds out what it has to do unless somebody has: each tenant that has work is a share
 * of it. Undefined when there is no run.
 */
export async function beginRun(db: Database): Promise<queries.StoredRun | undefined> {
  return db.transaction(async (connection) => {
    const run = await queries.takeRun(connection);
    if (run === undefined || run.is_divided) return run;
    const { id, tenant, tenants, before, delete_versioned: deleteVersioned } = run;
    const found = await findWork(connection, { tenant, tenants, before, deleteVersioned });
    await dropShares(connection, id);
    await addShares(connection, id, found.tenants);
    await queries.noteDivided(connection, id, found);
    return run;
  });
}

/**
 * Does what other processes leave of a run, tenant by tenant, and ends it after the last one. Returns whether the run
 * has ended. If the work on a tenant throws, the others still get theirs, but the run counts as failed. When this
 * process is stopped or the database cannot be reached, this throws and leaves the run as it is, so that it can be
 * taken up again.
 */
export async function doRun(
  db: Database,
  run: queries.StoredRun,
  context: RunContext,
): Promise<boolean> {
  const { log, session, signal } = context;
  const divided = { job: run.id, session, signal };
  const note: StoreWaitOptions['note'] = (waiting) => queries.noteWaiting(db, run.id, waiting);
  let begun: Promise<void> | undefined;
  const doOne = async (due: DueTenant) => {
    const wait = createStoreWait({ ...context, note });
    begun ??= wait.run(async () => context.begin?.(signal));
    await begun;
    const done = await doTenant(db, run, { ...context, due, wait });
    return (connection: Connection) => queries.addProgress(connection, run.id, done);
  };
  try {
    await doShares<DueTenant>(db, divided, doOne, { atOnce: context.tenantsAtOnce ?? 1 });
  } catch (error) {
    signal.throwIfAborted();
    if (isDatabaseAway(error)) throw error;
    log.error({ err: error, run: run.id }, 'a retention run failed');
    await db.transaction(async (connection) => {
      await dropShares(connection, run.id);
      await queries.addProgress(connection, run.id, { ...nothing, failure: toPublic(error) });
    });
  }
  signal.throwIfAborted();
  return endShares(db, divided, async () => {
    if (!(await queries.isOpenRun(db, run.id))) return;
    const freedBytes = await giveBackSpace(context);
    await queries.finishRun(db, run.id, freedBytes);
    log.info({ run: run.id }, 'a retention run ended');
  });
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

const nothing = {
  movedCount: 0,
  movedBytes: 0,
  deletedCount: 0,
  failedMoves: 0,
  busyTenants: 0,
  failure: null,
};

/** Does the work on one tenant. Throws only what ends the run, or interrupts it. */
async function doTenant(
  db: Database,
  run: queries.StoredRun,
  context: RunContext & { due: DueTenant; wait: StoreWait },
): Promise<queries.RunProgress> {
  const { due, log, signal } = context;
  try {
    return await moveAndDelete(db, run, context);
  } catch (error) {
    if (signal.aborted || endsRun(error)) throw error;
    log.error({ err: error, run: run.id, tenant: due.tenant }, 'retention of a tenant failed');
    return { ...nothing, failure: `${JSON.stringify(due.tenant)}: ${toPublic(error)}` };
  }
}

/** Deletions come first, so that nothing is made cold that is deleted right afterwards. */
async function moveAndDelete(
  db: Database,
  run: queries.StoredRun,
  context: Movers & Pick<TenantJob, 'session' | 'signal' | 'wait'> & { due: DueTenant },
): Promise<queries.RunProgress> {
  const { due, session, signal, wait } = context;
  const { tenant } = due;
  const done = { ...nothing };
  // The policy is read again for each tenant, because a run may take hours and policies change meanwhile.
  const days = await findDueDays(db, tenant, run.before);
  if (days.hold) return done;
  const job = { tenant, runId: run.id, session, signal, wait };
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
  if (isDatabaseAway(error) || isFenced(error)) return true;
  return error instanceof AppError && error.code === 'cold_tier_unavailable';
}

/** The text of an error that callers may see. Details of an unexpected error are only logged. */
function toPublic(error: unknown): string {
  return error instanceof AppError
    ? error.detail
    : 'An unexpected fault; the log of the process with the role retention tells it.';
}
