import sql from 'sql-template-tag';
import type { Database, Queryable } from './database.ts';
import { advisoryLocks } from './locks.ts';

/** Which tokens of the store this database knows as its own: see platform/objects/fence.ts. */
export type Fence = {
  readonly confirmed: string | null;
  /** Of attempts of which it is not known whether the store took them. */
  readonly pending: readonly string[];
  /** Another one with each change. */
  readonly version: number;
};

/** Each attempt that failed leaves one; the next that succeeds clears them. */
const mostPending = 1000;

/**
 * Less than others wait for a lock: they hardly notice one that is frozen while the store is asked. Who loses the lock
 * in between fails, and harms nobody.
 */
const silenceSeconds = 6;

/** One process of the database at a time takes the token forward. */
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
  const rows = await db.query<Fence>(sql`select confirmed, pending, version from store_fence`);
  const [fence] = rows;
  if (fence === undefined) throw new Error('the row of store_fence is gone');
  return fence;
}

export async function addPending(db: Queryable, token: string): Promise<void> {
  await db.query(sql`
    update store_fence set version = version + 1,
      pending = (array[${token}::text] || pending)[1:${mostPending}::int]`);
}

/** The store took this one: it can take none of the others any more. */
export async function confirm(db: Queryable, token: string): Promise<void> {
  await db.query(sql`
    update store_fence set version = version + 1, confirmed = ${token}, pending = '{}'`);
}
