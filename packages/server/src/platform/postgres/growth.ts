import sql, { raw } from 'sql-template-tag';
import { cancelling, type Database, type Queryable } from './database.ts';

/** A smaller table is read whole in next to no time, whatever the planner expects of it. */
const fewRows = 1000;

/**
 * Lists the tables that have more than doubled since the server last looked at them, as SQL names them. Left out are those
 * that somebody has locked: an autovacuum, perhaps, that is about to do the same.
 */
export async function listGrown(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select oid::regclass::text as name from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = current_schema()) and relkind = 'r'
      and pg_stat_get_live_tuples(oid) > ${fewRows} + 2 * greatest(reltuples, 0)
      and pg_has_role(relowner, 'usage') and not pg_is_in_recovery()
      and current_setting('transaction_read_only') = 'off'
      and not exists (
        select from pg_locks where relation = pg_class.oid and granted
          and database = (select oid from pg_database where datname = current_database())
          and mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock'))`);
  return rows.map(({ name }) => name);
}

/** Has the planner learn what is in a table. Aborted, it ends soon. */
export async function analyzeTable(
  db: Pick<Database, 'withConnection'>,
  table: string,
  signal: AbortSignal,
): Promise<void> {
  await db.withConnection(async (connection) => {
    const analyze = sql`analyze (skip_locked) ${raw(table)}`;
    await cancelling(connection, signal, () => connection.query(analyze, { isPlannedAnew: true }));
  });
}
