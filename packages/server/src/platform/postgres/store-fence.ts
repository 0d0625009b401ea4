import sql from 'sql-template-tag';
import type { Connection, Database, Queryable } from './database.ts';
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

/** One process of the database at a time takes the token forward. */
export async function withFenceLock<T>(
  db: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return db.withConnection(async (connection) => {
    await connection.query(sql`select pg_advisory_lock(${advisoryLocks.storeFence}::bigint)`);
    try {
      return await work(connection);
    } finally {
      await connection.query(sql`select pg_advisory_unlock(${advisoryLocks.storeFence}::bigint)`);
    }
  });
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
