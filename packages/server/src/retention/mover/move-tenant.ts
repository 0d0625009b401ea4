import type { StoreWait } from '../../platform/objects/store-wait.ts';
import type { Database, Session } from '../../platform/postgres/database.ts';
import { tryLock, unlock } from '../../platform/postgres/locks.ts';
import { busy, withSessionLock } from '../../platform/work/session-lock.ts';
import { planCompact } from './compact.ts';
import type { Move, MoverContext } from './move.ts';
import { planMove } from './move-hot-days.ts';
import { sumMoves } from './queries.ts';
import { nothingSofar, resumeMoves, runNoted, type Sofar } from './run-move.ts';

/** What is to be done to a tenant. */
export type TenantWork = {
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

export type TenantOutcome = {
  readonly movedCount: number;
  readonly movedBytes: number;
  readonly deletedCount: number;
  /** Moves that failed, for reasons that the journal tells. Those that a policy called off do not count. */
  readonly failedMoves: number;
  /** Another mover works on the tenant, so nothing was done. */
  readonly isBusy: boolean;
};

/**
 * Finishes a tenant's unfinished moves, then moves what is due, the oldest days first, then merges small segments. Only
 * one mover works on a tenant at a time, over all processes. The caller has advanced the fence, so that of two copies of
 * a database one is stopped before it writes anything.
 */
export function moveTenant(context: MoverContext, job: TenantWork): Promise<TenantOutcome> {
  return workOnTenant(context, job, async (signal, sofar) => {
    await resumeMoves(context, job.tenant, { signal, sofar });
    const isDone = await runEach(context, { signal, sofar }, (after) =>
      planMove(context, { ...job, after }),
    );
    // Merges small segments until there is nothing to merge. Each merge leaves fewer segments, so this ends. It stops
    // at one that fails, which would fail again.
    while (isDone) {
      const move = await planCompact(context, job);
      if (move === null) return;
      const result = await runNoted(context, move, { signal, sofar });
      if (!result.isSwitched) return;
    }
  });
}

/** Works on a tenant under its lock, and tells what was done in all. */
export async function workOnTenant(
  { db }: Pick<MoverContext, 'db'>,
  { tenant, signal, session, wait }: TenantWork,
  work: (signal: AbortSignal, sofar: Sofar) => Promise<void>,
): Promise<TenantOutcome> {
  const sofar = nothingSofar(wait);
  const ended = await sofar.wait.run(() =>
    withTenantLock(db, tenant, { signal, session, work: (own) => work(own, sofar) }),
  );
  return { ...(await sumMoves(db, tenant, [...sofar.moves])), isBusy: ended === busy };
}

/**
 * Runs one planned move after another. Each day is tried once in a run: what fails, or comes late, is left to the next
 * run, otherwise this could go on for ever. Returns false when a move was called off; whatever is due after it would be
 * called off for the same reason.
 */
export async function runEach(
  context: MoverContext,
  { signal, sofar }: { signal: AbortSignal; sofar: Sofar },
  plan: (after: string | null) => Promise<Move | null>,
): Promise<boolean> {
  for (;;) {
    const move = await plan(sofar.after);
    if (move === null) return true;
    const result = await runNoted(context, move, { signal, sofar });
    if (result.isCalledOff) return false;
    sofar.after = move.last_day;
  }
}

type LockedWork<T> = {
  readonly signal: AbortSignal;
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** A session that may hold the lock. Its loss must abort the caller's signal; it locks this tenant only here. */
  readonly session?: Session | undefined;
};

/** Works on a tenant while no other mover does; else returns `busy`. Losing the lock aborts the signal of `work`. */
export async function withTenantLock<T>(
  db: Database,
  tenant: string,
  { session, ...options }: LockedWork<T>,
): Promise<T | typeof busy> {
  if (session !== undefined) {
    options.signal.throwIfAborted();
    if (!(await tryLock(session, 'moves', tenant))) return busy;
    try {
      return await options.work(options.signal);
    } finally {
      if (!session.lost.aborted) await unlock(session, 'moves', tenant).catch(() => {});
    }
  }
  const lost =
    'The lock on the tenant was lost with its connection. The move goes on with the next run.';
  return withSessionLock(db, { name: 'moves', of: tenant }, { lost, ...options });
}
