import sql, { type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable } from './database.ts';

/**
 * The advisory locks of svcctl. They stand in one place, so that no two are the same by mistake. While one release
 * replaces another, processes of both exclude each other by these numbers, so a number never changes.
 */
export const advisoryLocks = {
  // These locks have one number each.
  migrations: 7_340_117_001,
  tokens: 7_340_117_002,
  partitions: 7_340_117_003,
  verifications: 7_340_117_061,
  retentionRuns: 7_340_120,
  versionCounts: 7_340_121,
  storeFence: 7_340_123,
  storedSums: 7_340_125,
  objectHolds: 7_340_126,
  restores: 7_340_127,
  notices: 7_340_132,
  keys: 7_340_133,
  schedules: 7_340_134,
  holdingBack: 7_340_141,
  tokenChecks: 7_340_142,
  recordCounts: 7_340_143,
  // These numbers are the first of two; the second says which lane, tenant, bucket or job is meant.
  pins: 734_018,
  tags: 734_013,
  exportJobs: 734_014,
  exportJobTaking: 734_015,
  exportQueue: 734_016,
  removals: 734_017,
  probes: 734_019,
  backups: 734_020,
  endpointNames: 734_021,
  savedViews: 734_022,
  lanes: 7_340_118,
  moves: 7_340_119,
  drainers: 7_340_122,
  shares: 7_340_124,
} as const;

export type AdvisoryLock = keyof typeof advisoryLocks;

/** Selects those rows of pg_locks that are one of these locks, held by a session on this database. */
export function isHeldLock(...names: readonly AdvisoryLock[]): Sql {
  const numbers = names.map((name) => advisoryLocks[name]);
  return sql`locktype = 'advisory' and granted
    and (case objsubid when 2 then classid::bigint else classid::bigint << 32 | objid::bigint end) = any(${numbers}::bigint[])
    and database = (select oid from pg_database where datname = current_database())`;
}

/**
 * Whether some backup is copying objects, which must stay for as long. A backup takes this lock before its snapshot, and
 * what is asked for removal is read before the locks are: so whoever finds the lock free finds no object that the
 * snapshot needs.
 */
export const areObjectsHeld: Sql = sql`exists (select from pg_locks where ${isHeldLock('objectHolds')})`;

/**
 * Takes a lock if it is free. Returns whether the session has it now; it keeps it for as long as the session lives.
 * `of` names the tenant or job that a lock of two numbers is about. Several sessions can share a lock of one number;
 * whoever wants it alone then has to wait until none has it.
 */
export async function tryLock(
  session: Queryable,
  name: AdvisoryLock,
  of?: string,
  { isShared = false }: { isShared?: boolean | undefined } = {},
): Promise<boolean> {
  const number = advisoryLocks[name];
  const rows = await session.query<{ is_locked: boolean }>(
    of !== undefined
      ? sql`select pg_try_advisory_lock(${number}, hashtext(${of})) as is_locked`
      : isShared
        ? sql`select pg_try_advisory_lock_shared(${number}) as is_locked`
        : sql`select pg_try_advisory_lock(${number}) as is_locked`,
  );
  return onlyRow(rows).is_locked;
}

/** Frees one lock that the session has. */
export async function unlock(session: Queryable, name: AdvisoryLock, of: string): Promise<void> {
  await session.query(sql`select pg_advisory_unlock(${advisoryLocks[name]}, hashtext(${of}))`);
}

/** Frees the locks of a session at once. After a mere end of the connection the server may take a while. */
export async function unlockAll(session: Queryable): Promise<void> {
  await session.query(sql`select pg_advisory_unlock_all()`);
}
