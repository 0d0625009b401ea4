import type { Database, Session } from '../../platform/postgres/database.ts';
import { tryLock, unlock } from '../../platform/postgres/locks.ts';
import { busy, withSessionLock } from '../../platform/work/session-lock.ts';

type LockedWork<T> = {
  readonly signal: AbortSignal;
  readonly work: (signal: AbortSignal) => Promise<T>;
  /**
   * A session that may hold the lock. The caller's signal must abort when it is lost, and no other work that it holds
   * locks for may be on this tenant.
   */
  readonly session?: Session | undefined;
};

/**
 * Works on a tenant while no other mover does, in whatever process. Returns `busy` when another one does. The signal
 * that `work` gets is also aborted when the lock is lost.
 */
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
