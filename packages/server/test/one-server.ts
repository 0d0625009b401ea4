import sql, { type Sql } from 'sql-template-tag';
import { expect, inject, test } from 'vitest';
import type { Database, Queryable } from '../src/platform/postgres/database.ts';
import type { TestDatabase } from './database.ts';

const isCluster = () => inject('workerUrls').length > 0;

/**
 * A test of what one server does with its own pages, statistics, sessions or files: of a cluster's tables these are
 * on the workers, out of its sight. On Citus it is left out.
 */
export const testOnOneServer = test.skipIf(isCluster());

/**
 * Waits until so many statements of this database wait for locks, on whichever server. What waits in the databases of other
 * tests does not count.
 */
export async function untilLockWaits(db: Queryable, count = 1): Promise<void> {
  const waiting = async () => {
    const here = await db.query(sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    if (here.length >= count || !isCluster()) return here.length;
    return (await db.query(sql`select from citus_lock_waits`)).length;
  };
  await expect.poll(waiting).toBeGreaterThanOrEqual(count);
}

/** The plan of the one statement that `work` runs, with every way forbidden but along an index. */
export async function planOf(
  db: TestDatabase,
  work: (db: Queryable) => Promise<unknown>,
): Promise<string> {
  return db.transaction(async (connection) => {
    await connection.client.query(
      'set local enable_seqscan = off; set local enable_bitmapscan = off',
    );
    let plan = '';
    await work({
      async query(statement: Sql) {
        const rows = await connection.query(sql`explain (costs off) ${statement}`);
        plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        return [];
      },
    });
    return plan;
  });
}

/** How many blocks of which of our tables `work` reads. */
export async function blocksOf(
  database: TestDatabase,
  work: (counted: Database) => Promise<unknown>,
): Promise<Record<string, number>> {
  const session = await database.openSession();
  try {
    await session.query(sql`begin isolation level repeatable read`);
    const transaction: Database['transaction'] = (inside) => inside(session as never);
    await work({ ...database, query: (...statement) => session.query(...statement), transaction });
    const rows = await session.query<{ name: string; blocks: number }>(sql`
      select relname as name, pg_stat_get_xact_blocks_fetched(oid)::int as blocks from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'i') order by relname`);
    return Object.fromEntries(
      rows.filter(({ blocks }) => blocks > 0).map(({ name, blocks }) => [name, blocks]),
    );
  } finally {
    await session.close();
  }
}
