import sql from 'sql-template-tag';
import { type Database, onlyRow, type Queryable } from './database.ts';
import { advisoryLocks } from './locks.ts';

/** The tokens of the store that this database knows as its own; platform/objects/fence.ts explains them. */
export type Fence = {
  readonly confirmed: string | null;
  /** The tokens of attempts for which it is unknown whether the store took them, newest first. */
  readonly pending: readonly string[];
  /** A number that changes whenever the row changes. */
  readonly version: number;
};

/** Each attempt that fails leaves a token here, and the next attempt that succeeds removes them all. */
const mostPending = 1000;

/** Less than others wait for a lock: they hardly notice a frozen process, and one that loses the lock does no harm. */
const silenceSeconds = 6;

/** Does the work under a lock, so that one process at a time moves the token of this database forward. */
export async function withFenceLock<T>(
  db: Pick<Database, 'openSession'>,
  work: (session: Queryable) => Promise<T>,
): Promise<T> {
  const session = await db.openSession({ silenceSeconds });
  try {
    await session.query(sql`select pg_advisory_lock(${advisoryLocks.storeFence}::bigint)`);
    return await work(session);
  } finally {
    await session.close();
  }
}

export async function readFence(db: Queryable): Promise<Fence> {
  return onlyRow(await db.query<Fence>(sql`select confirmed, pending, version from store_fence`));
}

/** Notes a token before the store is asked to take it. After very many failures the oldest are dropped. */
export async function addPending(db: Queryable, token: string): Promise<void> {
  await db.query(sql`
    update store_fence set version = version + 1,
      pending = (array[${token}::text] || pending)[1:${mostPending}::int]`);
}

/** Notes that the store has taken this token: it can no longer take any of the pending ones. */
export async function confirm(db: Queryable, token: string): Promise<void> {
  await db.query(sql`
    update store_fence set version = version + 1, confirmed = ${token}, pending = '{}'`);
}
