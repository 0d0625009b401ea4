import pg from 'pg';
import sql, { raw } from 'sql-template-tag';
import { longestTimerMillis } from '../platform/postgres/client.ts';
import { type Connection, onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { partitionName } from '../records/index.ts';
import { restoredText } from '../webhooks/values.ts';

// The statements that only a restore needs.

/** Which of these tables exist. */
export async function listPresent(db: Queryable, tables: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    sql`select name from unnest(${tables}::text[]) name where to_regclass(name) is not null`,
  );
  return rows.map(({ name }) => name);
}

/** Which of these tables hold anything. Each of them exists. */
export async function listFilled(db: Queryable, tables: readonly string[]): Promise<string[]> {
  const filled: string[] = [];
  for (const table of tables) {
    const rows = await db.query(sql`select from ${named(table)} limit 1`);
    if (rows.length > 0) filled.push(table);
  }
  return filled;
}

/** Empties the tables of what the migrations have put there, and notes that the restore begins. */
export async function beginRestore(
  db: Queryable,
  tables: readonly string[],
  backup: { id: string; place: string; takenAt: string },
): Promise<void> {
  await db.query(
    sql`truncate ${raw(tables.map((table) => pg.escapeIdentifier(table)).join(', '))}`,
  );
  await db.query(sql`
    insert into restores (backup_id, place, taken_at) values (${backup.id}, ${backup.place}, ${backup.takenAt})`);
}

export async function listRestoredFiles(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ path: string }>(sql`select path from restored_files`);
  return rows.map(({ path }) => path);
}

const leftOut = 'keys/';

/** Notes the ids of keys that are gone, beside the files, for the time of the restore. */
export async function noteLeftOut(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(
    sql`insert into restored_files (path) select ${leftOut} || id from unnest(${ids}::text[]) id`,
  );
}

export async function listLeftOut(db: Queryable): Promise<string[]> {
  const paths = await listRestoredFiles(db);
  return paths
    .flatMap((path) => (path.startsWith(leftOut) ? [path.slice(leftOut.length)] : []))
    .sort();
}

/** Has the hours and days of all tenants together be those of the tenants that are there. */
export async function sumStoredAnew(db: Queryable): Promise<void> {
  await db.query(sql`
    update stored_hours whole set (count, bytes) = (
      select coalesce(sum(count), 0), coalesce(sum(bytes), 0) from stored_hours s
      where s.hour = whole.hour and s.tenant <> '')
    where tenant = ''`);
  await db.query(sql`
    update stored_days whole set (count, bytes, hot_count, hot_bytes, cold_count, cold_bytes) = (
      select coalesce(sum(count), 0), coalesce(sum(bytes), 0), sum(hot_count), sum(hot_bytes), sum(cold_count),
        sum(cold_bytes)
      from stored_days s where s.day = whole.day and s.tenant <> '')
    where tenant = ''`);
}

/** Notes a file in the transaction that stores its rows. */
export async function noteRestoredFile(db: Queryable, path: string): Promise<void> {
  await db.query(sql`insert into restored_files (path) values (${path})`);
}

/** Loads may take long, wait for each other, and not for the disk: rows and their note are lost together, and `endRestore` waits. */
export async function allowLongLoads({ client }: Connection): Promise<void> {
  await client.query(
    `set local statement_timeout = 0; set local lock_timeout = 0; set local idle_in_transaction_session_timeout = '1h';
    set local synchronous_commit = off`,
  );
}

/** Keeps the table's triggers, but not PostgreSQL's own, from doing their work again. Locks it until the commit. */
export async function switchTriggers(
  connection: Connection,
  table: string,
  to: 'disable' | 'enable',
): Promise<void> {
  await runLong(connection, `alter table ${pg.escapeIdentifier(table)} ${to} trigger user`);
}

/**
 * Makes tables of these months, still without key and parent: a key that grows row by row takes three times as long.
 */
export async function makeMonths({ client }: Connection, months: readonly string[]): Promise<void> {
  const statements = months.map(
    (month) => `create table if not exists ${pg.escapeIdentifier(partitionName(month))} (
      like enrichment_records including all excluding indexes)`,
  );
  await client.query(statements.join('; '));
}

/** Makes a month's key, and its table a part of the records. What the planner needs is gathered of the month alone. */
export async function finishMonth(connection: Connection, month: string): Promise<void> {
  const table = pg.escapeIdentifier(partitionName(month));
  const rows = await connection.query<{ key: string; is_attached: boolean }>(sql`
    select pg_get_constraintdef(oid) as key,
      exists (select from pg_inherits where inhrelid = ${table}::regclass) as is_attached
    from pg_constraint where conrelid = 'enrichment_records'::regclass and contype = 'p'`);
  const found = onlyRow(rows);
  const first = `timestamptz ${pg.escapeLiteral(`${month}-01T00:00:00Z`)}`;
  const analyzing = `analyze ${table}`;
  const making = [
    `alter table ${table} add ${found.key}`,
    analyzing,
    `alter table enrichment_records attach partition ${table}
      for values from (${first}) to (${first} + interval '1 month')`,
  ];
  await runLong(connection, found.is_attached ? analyzing : making.join('; '));
}

/** Removes all rows of a table. */
export async function emptyTable(connection: Connection, table: string): Promise<void> {
  await connection.query(sql`truncate ${named(table)}`);
}

/**
 * Notes that the restore has ended: from now on a service may start. A run of a schedule may have gone on after the backup,
 * and its folder be whole: the next run delivers the same into a folder of its own. One that lacks its marker only writes
 * the same marker again.
 */
export async function endRestore(
  db: Queryable,
  backup: { id: string; takenAt: string; records: number; sizeBytes: number },
): Promise<void> {
  await db.query(sql`truncate restored_files`);
  // At the moment of the backup its own row said that it was under way.
  await db.query(sql`
    update backups set finished_at = ${backup.takenAt}, taken_at = ${backup.takenAt}, records = ${backup.records},
      size_bytes = ${backup.sizeBytes}
    where id = ${backup.id} and finished_at is null`);
  await db.query(sql`
    update exports set state = 'failed', finished_at = now(), expires_at = now(), error_code = 'export_failed',
      error = 'The database was restored from a backup. The next run delivers the same into another folder.'
    where schedule_id is not null and state in ('queued', 'running')`);
  // What it has sent since the backup would come again under other webhook-ids.
  await db.query(sql`
    update replays set state = 'paused', updated_at = now(), error = ${restoredText}
    where state = 'running'`);
  await db.query(sql`update restores set finished_at = now() where backup_id = ${backup.id}`);
}

/** How many deliveries a drainer will attempt. */
export async function countOpenDeliveries(db: Queryable): Promise<number> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) as count from deliveries where next_attempt_at is not null`,
  );
  return onlyRow(rows).count;
}

/** Gathers what the planner needs to know: a restored table is planned for as an empty one until then. */
export async function analyze(connection: Connection, tables: readonly string[]): Promise<void> {
  const names = tables.map((table) => pg.escapeIdentifier(table)).join(', ');
  await connection.client.query('set statement_timeout = 0');
  await runLong(connection, `analyze ${names}`);
}

async function runLong({ client }: Connection, text: string): Promise<void> {
  await client.query({ text, query_timeout: longestTimerMillis } as pg.QueryConfig);
}

function named(table: string) {
  return raw(pg.escapeIdentifier(table));
}
