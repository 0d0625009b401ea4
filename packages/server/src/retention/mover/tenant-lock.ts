import { AppError } from '../../kernel/errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { lockTenant } from './queries.ts';

/** Another mover has the tenant. */
export const busy = Symbol('busy');

/**
 * Works on a tenant while nobody else does, in whatever process: the lock is that of a session, and ends
 * with it. The signal given to `work` is aborted by the caller's and when the session is lost.
 */
export async function withTenantLock<T>(
  db: Database,
  tenant: string,
  options: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
): Promise<T | typeof busy> {
  options.signal.throwIfAborted();
  const session = await db.openSession();
  try {
    if (!(await lockTenant(session, tenant))) return busy;
    const lost = new AbortController();
    session.lost.addEventListener('abort', () => lost.abort(sessionLost()), { once: true });
    if (session.lost.aborted) lost.abort(sessionLost());
    return await options.work(AbortSignal.any([options.signal, lost.signal]));
  } finally {
    await session.close();
  }
}

function sessionLost(): AppError {
  return new AppError('database_unavailable', {
    detail:
      'The lock on the tenant was lost with its connection. The move goes on with the next run.',
    retryAfterSeconds: 5,
  });
}
