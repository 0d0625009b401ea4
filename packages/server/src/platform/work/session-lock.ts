import { AppError } from '../../kernel/errors.ts';
import type { Database } from '../postgres/database.ts';
import { type AdvisoryLock, tryLock, unlockAll } from '../postgres/locks.ts';

/** Another session has the lock. */
export const busy = Symbol('busy');

type LockedWork<T> = {
  readonly signal: AbortSignal;
  /** What losing the lock means to whoever asked for the work, as a sentence. */
  readonly lost: string;
  /** Is given a signal that is aborted by the caller's, and by 503 `database_unavailable` when the lock is lost. */
  readonly work: (signal: AbortSignal) => Promise<T>;
};

/**
 * Works while nobody else does who takes the same lock, in whatever process; `of` tells locks of one name apart. The
 * lock is that of a session: it ends with the process, however that ends, and is lost with the connection.
 */
export async function withSessionLock<T>(
  db: Pick<Database, 'openSession'>,
  lock: { name: AdvisoryLock; of?: string },
  { signal, lost, work }: LockedWork<T>,
): Promise<T | typeof busy> {
  signal.throwIfAborted();
  const session = await db.openSession();
  try {
    if (!(await tryLock(session, lock.name, lock.of))) return busy;
    const losing = new AbortController();
    const lose = () =>
      losing.abort(new AppError('database_unavailable', { detail: lost, retryAfterSeconds: 5 }));
    session.lost.addEventListener('abort', lose, { once: true });
    if (session.lost.aborted) lose();
    return await work(AbortSignal.any([signal, losing.signal]));
  } finally {
    if (!session.lost.aborted) await unlockAll(session).catch(() => {});
    await session.close();
  }
}
