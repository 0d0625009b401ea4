import sql, { raw } from 'sql-template-tag';
import { type Queryable, type Session, sqlState } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';

/** A month of hot records: what it takes on the disk, and what of that its records are worth. */
export type MonthSpace = {
  /** The partition. */
  name: string;
  size_bytes: number;
  /** Of the records that the counters know, with their share of the index: an estimate. */
  live_bytes: number;
  dead_bytes: number;
};

/**
 * By the sizes of the files and the counters: nothing of the records is read. A record takes about its `bytes` in
 * heap and index; 128 bytes more, for an index in disorder and what large values need, and 64 KiB a month keep
 * the estimate from calling dead what is not.
 */
export async function listMonthSpaces(db: Queryable): Promise<MonthSpace[]> {
  return db.query<MonthSpace>(sql`
    with live as (
      select month, sum(bytes - cold_bytes + 128 * (count - cold_count))::bigint as bytes
      from leaf_months where count > cold_count group by month
    ), partition as (
      select child.relname as name, pg_total_relation_size(child.oid) as size_bytes,
        coalesce(live.bytes, 0) as live_bytes
      from pg_inherits join pg_class child on child.oid = inhrelid
      left join live on live.month = replace(right(child.relname, 7), '_', '-')
      where inhparent = 'enrichment_records'::regclass
    )
    select name, size_bytes, live_bytes, greatest(size_bytes - live_bytes - 65536, 0) as dead_bytes
    from partition order by name`);
}

/**
 * Since when the oldest snapshot of this database has been open, if it is more than a minute: what became dead since
 * then stays until it ends. Null also where the role may not see it.
 */
export async function findOldSnapshot(db: Queryable): Promise<string | null> {
  const rows = await db.query<{ since: string | null }>(sql`
    select ${instantText('min(xact_start)')} as since from pg_stat_activity
    where datname = current_database() and backend_xmin is not null
      and xact_start < now() - interval '1 minute'`);
  return rows[0]?.since ?? null;
}

/**
 * Removes what no snapshot sees any more; what is free at the end of the files goes back to the disk. It blocks nobody
 * and may take hours, as it does not go on where a canceled one was. The server looks whether we are still there, where
 * its platform can: else it would go on after an abort.
 */
export async function vacuum(session: Session, table: string): Promise<void> {
  await session.query(sql`set client_connection_check_interval = '2s'`).catch(() => {});
  await session.query(sql`set statement_timeout = 0`);
  try {
    await session.query(sql`vacuum (analyze) ${raw(table)}`);
  } finally {
    // Where the session is lost, the first fault is the one to tell.
    await session.query(sql`reset statement_timeout`).catch(() => {});
  }
}

/** Deleted rows that the last vacuum had to leave, because a snapshot may still see them, and live ones. */
export async function countRows(
  session: Queryable,
  table: string,
): Promise<{ held: number; live: number }> {
  const rows = await session.query<{ held: number; live: number }>(sql`
    select pg_stat_get_dead_tuples(${table}::regclass) as held,
      pg_stat_get_live_tuples(${table}::regclass) as live`);
  return rows[0] ?? { held: 0, live: 0 };
}

/** On the disk, with indexes and large values. */
export async function sizeOf(db: Queryable, table: string): Promise<number> {
  const rows = await db.query<{ size: number }>(
    sql`select pg_total_relation_size(${table}::regclass) as size`,
  );
  return rows[0]?.size ?? 0;
}

/**
 * Brings all that has changed to the disk, so that the log of it may be overwritten. False when it took too long, or
 * the role is neither superuser nor a member of pg_checkpoint.
 */
export async function checkpoint(session: Queryable): Promise<boolean> {
  try {
    await session.query(sql`checkpoint`);
    return true;
  } catch (error) {
    if (['42501', '57014'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}

/**
 * Writes a table and its index anew into files of their own, in key order, with what snapshots still see: unlike
 * TRUNCATE, CLUSTER takes nothing from them. Readers and writers of the table wait for it, and others behind them:
 * 200 ms for the lock, and as long as the statement may take, at most.
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
    // The first fault is the one to tell.
    await session.query(sql`rollback`).catch(() => {});
    throw error;
  }
}
