import { AppError } from '../../kernel/errors.ts';
import type { Database, Session } from '../postgres/database.ts';
import { type AdvisoryLock, tryLock, unlockAll } from '../postgres/locks.ts';

/** Returned when another session has the lock. */
export const busy = Symbol('busy');

type LockedWork<T> = {
  readonly signal: AbortSignal;
  /** A sentence that tells whoever asked for the work what the loss of the lock means to them. */
  readonly lost: string;
  /** The work. Its signal aborts with the caller's, and with 503 `database_unavailable` when the lock is lost. */
  readonly work: (signal: AbortSignal, session: Session) => Promise<T>;
};

/**
 * Does the work while holding a lock, so that no other process does it at the same time. Returns `busy` when another
 * session has the lock. `of` tells locks of the same name apart; a lock without it may be shared with other sessions that
 * want to share it. The lock belongs to a session of the database: it ends with the process, however that ends, and is
 * lost with the connection.
 */
export async function withSessionLock<T>(
  db: Pick<Database, 'openSession'>,
  lock: { name: AdvisoryLock; of?: string; isShared?: boolean },
  { signal, lost, work }: LockedWork<T>,
): Promise<T | typeof busy> {
  signal.throwIfAborted();
  const session = await db.openSession();
  try {
    const { name, of, isShared } = lock;
    if (!(await tryLock(session, name, of, { isShared }))) return busy;
    return await work(AbortSignal.any([signal, lossOf(session, lost)]), session);
  } finally {
    await endSession(session);
  }
}

/** A signal that aborts with 503 `database_unavailable` when the session is lost, and with it its locks. */
export function lossOf(session: Session, detail: string): AbortSignal {
  const losing = new AbortController();
  const lose = () =>
    losing.abort(new AppError('database_unavailable', { detail, retryAfterSeconds: 5 }));
  session.lost.addEventListener('abort', lose, { once: true });
  if (session.lost.aborted) lose();
  return losing.signal;
}

/** Frees the locks of a session, and closes it. */
export async function endSession(session: Session): Promise<void> {
  if (!session.lost.aborted) await unlockAll(session).catch(() => {});
  await session.close();
}
