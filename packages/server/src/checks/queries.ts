import sql from 'sql-template-tag';
import type { StoreState } from '../kernel/values.ts';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { newestApplied } from '../platform/postgres/migrate.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { ProcessRow } from './contract.ts';
import { type ProcessCommand, processStateOf } from './values.ts';

/** What a process says of itself with each beat. */
type Beat = {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** The last migration of its release. */
  readonly migration: string;
  readonly node: string;
  readonly command: ProcessCommand;
  readonly roles: readonly string[];
  readonly url: string | null;
  readonly settings: Readonly<Record<string, string>>;
  /** The ids of the keys of webhook secrets that it knows, the one that seals first. */
  readonly secretKeys: readonly string[];
  readonly clockAheadMillis: number | null;
  readonly diskFreeBytes: number | null;
  readonly diskTotalBytes: number | null;
  readonly storeState: StoreState | null;
};

/** Says that a process lives, and returns the database's time in ms. Its row is made at first, or once forgotten. */
export async function writeBeat(db: Queryable, beat: Beat): Promise<number> {
  const rows = await db.query<{ now_millis: number }>(sql`
    insert into processes (id, host, pid, version, migration, node, command, roles, url, settings, secret_keys, clock_ahead_millis, disk_free_bytes,
      disk_total_bytes, store_state)
    values (${beat.id}, ${beat.host}, ${beat.pid}, ${beat.version}, ${beat.migration}, ${beat.node}, ${beat.command}, ${beat.roles}, ${beat.url},
      ${JSON.stringify(beat.settings)}, ${beat.secretKeys}, ${beat.clockAheadMillis}, ${beat.diskFreeBytes}, ${beat.diskTotalBytes},
      ${beat.storeState})
    on conflict (id) do update set seen_at = now(), url = excluded.url, secret_keys = excluded.secret_keys, clock_ahead_millis = excluded.clock_ahead_millis,
      disk_free_bytes = excluded.disk_free_bytes, disk_total_bytes = excluded.disk_total_bytes,
      store_state = excluded.store_state
    returning extract(epoch from clock_timestamp())::double precision * 1000 as now_millis`);
  return onlyRow(rows).now_millis;
}

export async function removeProcess(db: Queryable, id: string): Promise<void> {
  await db.query(sql`delete from processes where id = ${id}`);
}

/** Forgets processes that were not seen for a day; of those not seen for two minutes it keeps the latest hundred. */
export async function forgetProcesses(db: Queryable): Promise<void> {
  await db.query(sql`
    delete from processes where seen_at < now() - interval '1 day' or id in (
      select id from processes where seen_at < now() - interval '2 minutes' order by seen_at desc offset 100
    )`);
}

/** The processes on this database, the oldest first, with what their last beat means now. */
export async function listProcesses(db: Queryable): Promise<ProcessRow[]> {
  const rows = await db.query<Omit<ProcessRow, 'state'>>(sql`
    select id, host, pid, version, node, command, roles, url, settings, secret_keys, ${instantText('since')} as since,
      ${instantText('seen_at')} as seen_at,
      greatest(0, extract(epoch from now() - seen_at))::double precision as silent_seconds,
      clock_ahead_millis as clock_ahead_ms, disk_free_bytes, disk_total_bytes, store_state
    from processes p order by p.since, id`);
  return rows.map((row) => ({ ...row, state: processStateOf(row.silent_seconds) }));
}

export async function readDatabase(db: Queryable) {
  const rows = await db.query<{ version: string; size_bytes: number; migration: string }>(sql`
    select current_setting('server_version') as version, pg_database_size(current_database()) as size_bytes,
      (${newestApplied}) as migration`);
  return onlyRow(rows);
}

/** A machine whose disk with the data folder is nearly full, by what a live process of it measured. */
export type FullDisk = { readonly host: string; readonly free_percent: number };

/** Lists machines with less than `percent` of that disk free, of processes seen in the last two minutes. */
export async function listFullDisks(db: Queryable, percent: number): Promise<FullDisk[]> {
  return db.query<FullDisk>(sql`
    select host, floor(min(100.0 * disk_free_bytes / disk_total_bytes))::int as free_percent from processes
    where seen_at > now() - interval '2 minutes' and disk_total_bytes > 0
      and 100.0 * disk_free_bytes / disk_total_bytes < ${percent}
    group by host order by host`);
}

/** What a process holds in the database, and how long ago that last heard from it. */
export type Held = { pid: number; connections: number; locks: number; heard_seconds: number };

/** The connections of each process by its number, and the locks that were asked for by name which they hold. */
export async function listHeld(db: Queryable): Promise<Held[]> {
  return db.query<Held>(sql`
    select split_part(application_name, ':', 2)::int as pid, count(*) as connections,
      coalesce(sum((select count(*) from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.granted)), 0)::bigint
        as locks,
      min(extract(epoch from clock_timestamp() - greatest(backend_start, query_start, state_change)))::float8 as heard_seconds
    from pg_stat_activity a
    where application_name ~ '^svcctl:\\d{1,9}$' and datname = current_database() group by 1`);
}

/** As the server, the database and the role have it: what our own connections set is not meant. */
export async function readDurability(
  db: Queryable,
): Promise<Record<'fsync' | 'full_page_writes' | 'synchronous_commit' | 'archive_mode', string>> {
  const rows = await db.query<{ name: string; value: string }>(sql`
    select name, reset_val as value from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'archive_mode')`);
  const settingOf = (name: string) => rows.find((row) => row.name === name)?.value ?? 'on';
  return {
    fsync: settingOf('fsync'),
    full_page_writes: settingOf('full_page_writes'),
    synchronous_commit: settingOf('synchronous_commit'),
    archive_mode: settingOf('archive_mode'),
  };
}

/** Indexes of our tables that nothing can use, but for those that are being built. */
export async function listInvalidIndexes(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = current_schema()::regnamespace and not (i.indisvalid and i.indisready)
      and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
    order by 1 limit 20`);
  return rows.map(({ name }) => name);
}

export async function countConnections(db: Queryable): Promise<{ used: number; most: number }> {
  const rows = await db.query<{ used: number; most: number }>(sql`
    select (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
      current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint as most`);
  return onlyRow(rows);
}

export type LockTable = { room: number; used: number; months: number; per_transaction: number };

export async function readLockTable(db: Queryable): Promise<LockTable> {
  const rows = await db.query<LockTable>(sql`
    select current_setting('max_locks_per_transaction')::bigint as per_transaction,
      current_setting('max_locks_per_transaction')::bigint
        * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint) as room,
      (select count(*) from pg_locks where not fastpath) as used,
      (select count(*) from pg_inherits where inhparent = 'enrichment_records'::regclass) as months`);
  return onlyRow(rows);
}

/** What has kept vacuum from removing rows for so many seconds: transactions, prepared ones, replication slots. */
export async function listOldSnapshots(
  db: Queryable,
  seconds: number,
): Promise<{ what: string; seconds: number }[]> {
  return db.query(sql`
    select * from (
      select format('a transaction of %s (backend %s, %s)', coalesce(nullif(application_name, ''), usename, 'somebody'),
          pid, coalesce(state, 'its state is hidden')) as what,
        extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
      from pg_stat_activity
      -- With an id of its own a transaction holds back vacuum although it has no snapshot for now.
      where (backend_xmin is not null or backend_xid is not null) and backend_type = 'client backend'
        and datname = current_database() and pid <> pg_backend_pid()
      union all
      select format('the prepared transaction %s of %s', quote_literal(gid), owner),
        extract(epoch from clock_timestamp() - prepared)::float8
      from pg_prepared_xacts where database = current_database()
    ) held where seconds >= ${seconds} order by seconds desc limit 20`);
}

export type Vacuum = {
  isOn: boolean;
  tables: { name: string; dead: number; live: number }[];
  ages: { name: string; age: number }[];
};

/** Tables with far more dead rows than autovacuum leaves, and those it should have frozen long ago. */
export async function readVacuum(db: Queryable): Promise<Vacuum> {
  const settings = await db.query<{ value: string }>(
    sql`select current_setting('autovacuum') as value`,
  );
  const tables = await db.query<{ name: string; dead: number; live: number }>(sql`
    select relname as name, n_dead_tup as dead, n_live_tup as live from pg_stat_user_tables
    where schemaname = current_schema() and n_dead_tup > 100000 and n_dead_tup > n_live_tup
      and greatest(last_vacuum, last_autovacuum, '-infinity') < now() - interval '1 day'
    order by n_dead_tup desc limit 10`);
  const ages = await db.query<{ name: string; age: number }>(sql`
    select relname as name, age(relfrozenxid)::bigint as age from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 't', 'm')
      and age(relfrozenxid) > 3 * current_setting('autovacuum_freeze_max_age')::bigint
    order by 2 desc limit 10`);
  return { isOn: onlyRow(settings).value === 'on', tables, ages };
}

/** Due deliveries that nobody attempts: their lease ran out long ago, or runs too long. Looks at `looked`, by index. */
export async function countStuckLeases(db: Queryable, looked: number): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select endpoint_id, leased_until from deliveries where next_attempt_at is not null
      order by lane, endpoint_id, next_attempt_at limit ${looked}::bigint
    ) waiting join webhook_endpoints e on e.id = waiting.endpoint_id
    where leased_until > now() + interval '15 minutes'
      or (leased_until < now() - interval '5 minutes' and e.enabled and e.deleted_at is null
        and coalesce(greatest(e.paused_until, e.throttled_until) < now() - interval '5 minutes', true))`);
  return onlyRow(rows).count;
}

/** So many segments are counted that were not verified. */
export const mostUnverified = 10_000;

/** When the last run over everything was queued (or the database made), runs that wait, segments not found right. */
export type Overdue = { lastQueuedMillis: number; waiting: number; unverified: number };

export async function readOverdue(db: Queryable, verifyDays: number): Promise<Overdue> {
  const runs = await db.query<{ last: number; waiting: number }>(sql`
    select (extract(epoch from coalesce(
        (select max(requested_at) from retention_runs where tenant is null and tenants is null and before is null),
        (select min(applied_at) from schema_migrations))) * 1000)::float8 as last,
      (select count(*) from retention_runs where state = 'queued' and requested_at < now() - interval '1 hour') as waiting`);
  // A cluster spreads this table and not those above, so it is read by itself.
  const segments = await db.query<{ unverified: number }>(sql`
    select count(*) as unverified from (
      select id from segments where ${verifyDays}::int > 0
        and coalesce(verified_at, created_at) < now() - make_interval(days => 2 * ${verifyDays}::int + 2) limit ${mostUnverified}::int
    ) unverified`);
  const { last, waiting } = onlyRow(runs);
  return { lastQueuedMillis: last, waiting, unverified: onlyRow(segments).unverified };
}
