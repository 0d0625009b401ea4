import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from './database.ts';

/**
 * The advisory locks of svcctl, all in one place so that no two are the same by mistake. Processes of two
 * releases exclude each other by these numbers while one replaces the other: a number never changes.
 */
export const advisoryLocks = {
  // One number each.
  migrations: 7_340_117_001,
  tokens: 7_340_117_002,
  partitions: 7_340_117_003,
  verifications: 7_340_117_061,
  retentionRuns: 7_340_120,
  versionCounts: 7_340_121,
  storeFence: 7_340_123,
  // The first of two numbers: the second says which lane, tenant or job.
  pins: 734_012,
  tags: 734_013,
  exportJobs: 734_014,
  exportJobTaking: 734_015,
  exportQueue: 734_016,
  removals: 734_017,
  lanes: 7_340_118,
  moves: 7_340_119,
  drainers: 7_340_122,
} as const;

export type AdvisoryLock = keyof typeof advisoryLocks;

/** Of the rows of pg_locks, those that are one of these locks, held by a session on this database. */
export function isHeldLock(...names: readonly AdvisoryLock[]): Sql {
  const numbers = names.map((name) => advisoryLocks[name]);
  return sql`locktype = 'advisory' and granted
    and (case objsubid when 2 then classid::bigint else classid::bigint << 32 | objid::bigint end) = any(${numbers}::bigint[])
    and database = (select oid from pg_database where datname = current_database())`;
}

/**
 * Whether the lock was free and is this session's now, for as long as it lives. `of`: the tenant or job that a lock
 * of two numbers is about.
 */
export async function tryLock(
  session: Queryable,
  name: AdvisoryLock,
  of?: string,
): Promise<boolean> {
  const number = advisoryLocks[name];
  const rows = await session.query<{ is_locked: boolean }>(
    of === undefined
      ? sql`select pg_try_advisory_lock(${number}) as is_locked`
      : sql`select pg_try_advisory_lock(${number}, hashtext(${of})) as is_locked`,
  );
  return rows[0]?.is_locked ?? false;
}

/** At once: the end of a connection frees them only when the server comes to it. */
export async function unlockAll(session: Queryable): Promise<void> {
  await session.query(sql`select pg_advisory_unlock_all()`);
}
