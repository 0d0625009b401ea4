import type { Database } from '../../platform/postgres/database.ts';
import { type busy, withSessionLock } from '../../platform/work/session-lock.ts';

/**
 * Works on a tenant while no other mover does, in whatever process. Returns `busy` when another one does. The signal
 * that `work` gets is also aborted when the lock is lost.
 */
export function withTenantLock<T>(
  db: Database,
  tenant: string,
  options: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
): Promise<T | typeof busy> {
  const lost =
    'The lock on the tenant was lost with its connection. The move goes on with the next run.';
  return withSessionLock(db, { name: 'moves', of: tenant }, { lost, ...options });
}
