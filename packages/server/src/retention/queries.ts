import sql, { empty, join, raw } from 'sql-template-tag';
import { usualLimits } from '../platform/postgres/client.ts';
import type { Queryable, Session } from '../platform/postgres/database.ts';
import { sqlState } from '../platform/postgres/errors.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { SegmentRow } from './contract.ts';
import type { SegmentState } from './values.ts';

/** The space of a month of hot records: what it takes on the disk, and how much of that its live records need. */
export type MonthSpace = {
  /** The name of the partition. */
  name: string;
  size_bytes: number;
  /** An estimate of what the live records need, with their share of the index; 0 for a month that is small anyway. */
  live_bytes: number;
  dead_bytes: number;
};

/** A month with no more than this says nothing of what is dead in it: empty tables and indexes take some, too. */
const freeBytes = 2 ** 17;

/**
 * Lists the months by the sizes of their files and the counters; no record is read. A record takes about its `bytes` in
 * heap and index. The estimate adds 128 bytes a record, for an index in disorder and the overhead of large values, and
 * 128 KiB a month, so that it does not call dead what is live. Only the counters of months that are larger than that are
 * read: in most months nothing is hot, but counters stay. With 1,975 tenants of 60 months, those of all leaves were 7,900
 * blocks, where a month of hot records is 1,550.
 */
export async function listMonthSpaces(db: Queryable): Promise<MonthSpace[]> {
  const partitions = await db.query<{ name: string; month: string; size_bytes: number }>(sql`
    select child.relname as name, replace(right(child.relname, 7), '_', '-') as month,
      table_bytes(child.oid) as size_bytes
    from pg_inherits join pg_class child on child.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass order by name`);
  const months = partitions.flatMap((of) => (of.size_bytes > freeBytes ? [of.month] : []));
  // Planned for these months, since for any ten of them PostgreSQL might rather read all counters.
  if (months.length === 0) {
    return partitions.map(({ name, size_bytes }) => ({
      name,
      size_bytes,
      live_bytes: 0,
      dead_bytes: 0,
    }));
  }
  const live = await db.query<{ month: string; bytes: number }>(
    sql`
      select month, sum(bytes - cold_bytes + 128 * (count - cold_count))::bigint as bytes
      from tenant_months where month = any(${months}::text[]) and count > cold_count group by month`,
    { isPlannedAnew: true },
  );
  const liveBytes = new Map(live.map(({ month, bytes }) => [month, bytes]));
  return partitions.map(({ name, month, size_bytes }) => {
    const live_bytes = liveBytes.get(month) ?? 0;
    return {
      name,
      size_bytes,
      live_bytes,
      dead_bytes: Math.max(size_bytes - live_bytes - freeBytes, 0),
    };
  });
}

/**
 * Since when the oldest snapshot is open, if for over a minute: it keeps what died since. Null also when not visible.
 */
export async function findOldSnapshot(db: Queryable): Promise<string | null> {
  const rows = await db.query<{ since: string | null }>(sql`
    select ${instantText('min(xact_start)')} as since from pg_stat_activity
    where datname = current_database() and backend_xmin is not null
      and xact_start < now() - interval '1 minute'`);
  return rows[0]?.since ?? null;
}

/**
 * Removes rows that no snapshot sees any more; free space at the end of the files goes back to the disk. It blocks
 * nobody. It may take hours, because a vacuum that was canceled begins anew. The server is told to check whether the
 * client is still there, where its platform can: otherwise it would go on after an abort.
 *
 * The server leaves what is dead on less than 2 % of the pages, which it then counts as if a snapshot held it. `isWhole`
 * removes that, too, and reads all indexes for it.
 */
export async function vacuum(
  session: Session,
  table: string,
  { isWhole = false }: { isWhole?: boolean } = {},
): Promise<void> {
  await session.query(sql`set client_connection_check_interval = '2s'`).catch(() => {});
  await session.query(sql`set statement_timeout = 0`);
  try {
    const cleanup = raw(isWhole ? 'on' : 'auto');
    await session.query(sql`vacuum (analyze, index_cleanup ${cleanup}) ${raw(table)}`);
  } finally {
    // If the session is lost, the error of the vacuum is the one to report.
    await session.query(usualLimits).catch(() => {});
  }
}

/** Counts the live rows, and the deleted ones that the last vacuum left because a snapshot may still see them. */
export async function countRows(
  session: Queryable,
  table: string,
): Promise<{ held: number; live: number }> {
  const rows = await session.query<{ held: number; live: number }>(sql`
    select held, live from table_rows(${table}::regclass)`);
  return rows[0] ?? { held: 0, live: 0 };
}

/** The size of a table on the disk, with its indexes and large values. */
export async function sizeOf(db: Queryable, table: string): Promise<number> {
  const rows = await db.query<{ size: number }>(
    sql`select table_bytes(${table}::regclass) as size`,
  );
  return rows[0]?.size ?? 0;
}

/**
 * Writes all changes to the data files, also on the workers of a cluster, so that the log of them may be overwritten.
 * Returns false when it took too long, or when the role is neither superuser nor a member of pg_checkpoint.
 */
export async function checkpoint(session: Queryable): Promise<boolean> {
  try {
    await session.query(sql`checkpoint`);
    const [cluster] = await session.query(
      sql`select where to_regproc('run_command_on_workers') is not null`,
    );
    if (cluster === undefined) return true;
    const [left] = await session.query<{ count: number }>(sql`
      select count(*) as count from run_command_on_workers('checkpoint') where not success`);
    return left?.count === 0;
  } catch (error) {
    if (['42501', '57014'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}

/**
 * Writes a table and its index anew into new files, in key order. CLUSTER keeps what snapshots still see, unlike
 * TRUNCATE. Readers and writers of the table wait meanwhile, and others behind them: for 200 ms at most while it waits
 * for the lock, and then for `workMillis` at most.
 */
export async function rewrite(
  session: Queryable,
  table: string,
  { workMillis }: { workMillis: number },
): Promise<void> {
  const rows = await session.query<{ name: string }>(sql`
    select indexrelid::regclass::text as name from pg_index
    where indrelid = ${table}::regclass and indisprimary`);
  const [key] = rows;
  if (key === undefined) throw new Error(`${table} has no primary key`);
  await session.query(sql`begin`);
  try {
    await session.query(raw(`set local lock_timeout = '200ms'`));
    await session.query(raw(`set local statement_timeout = ${workMillis}`));
    await session.query(sql`lock table ${raw(table)} in access exclusive mode`);
    await session.query(sql`cluster ${raw(table)} using ${raw(key.name)}`);
    await session.query(sql`commit`);
  } catch (error) {
    // The error of the statement is the one to report, not that of the rollback.
    await session.query(sql`rollback`).catch(() => {});
    throw error;
  }
}

/** Tenant and key of an object. */
export type ObjectKey = readonly [tenant: string, key: string];

/** Lists segments, and objects that were replaced and await their removal; `digest` is a decimal number. */
export async function listObjects(
  db: Queryable,
  { tenants, state }: { tenants: readonly string[] | null; state: SegmentState | undefined },
  { after, limit }: { after: ObjectKey | null; limit: number },
): Promise<SegmentRow[]> {
  const conditions = [
    ...(tenants === null ? [] : [sql`tenant = any(${tenants})`]),
    ...(after === null ? [] : [sql`(tenant, object_key) > (${join([...after])})`]),
  ];
  const first = sql`${conditions.length === 0 ? empty : sql`where ${join(conditions, ' and ')}`}
    order by tenant, object_key limit ${limit}`;
  const live = sql`
    select tenant, object_key, 'live' as state, first_day::text as first_day,
      last_day::text as last_day, count, bytes, digest::text as digest, size_bytes,
      encode(sha256, 'hex') as sha256, null as remove_after
    from segments ${first}`;
  const replaced = sql`
    select tenant, object_key, 'replaced' as state, null as first_day, null as last_day,
      null::bigint as count, null::bigint as bytes, null as digest, null::bigint as size_bytes,
      null as sha256, ${instantText('remove_after')} as remove_after
    from object_removals ${first}`;
  if (state !== undefined) return db.query<SegmentRow>(state === 'live' ? live : replaced);
  return db.query<SegmentRow>(sql`
    select * from ((${live}) union all (${replaced})) object order by tenant, object_key limit ${limit}`);
}
