import sql, { raw, type Sql } from 'sql-template-tag';
import { type Applied, replaced } from '../platform/postgres/baseline.ts';
import type { TableOwner } from '../platform/postgres/copy.ts';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import type { Triple } from '../records/segments.ts';
import type { RecordMonth, SavedSequence } from './manifest.ts';

/** A backup that is whole. Times are texts as PostgreSQL spells them. */
export type LastBackup = {
  readonly id: string;
  /** Where it lies, for people to read: a folder or `s3://bucket/prefix`. */
  readonly place: string;
  /** The moment that it shows: what was stored later is not in it. */
  readonly taken_at: string;
  readonly finished_at: string;
  /** The records in it, hot and cold. */
  readonly records: number;
  /** All that it needs. */
  readonly size_bytes: number;
  /** When all of it was last read back and found right; null if never. */
  readonly verified_at: string | null;
};

/**
 * Names the database among all others: by the number of its server, its own there, and the time of the last restore. So
 * a clone and a restored database have names of their own. A copy of the server's files keeps the name, as it must where
 * a replica takes over.
 */
export async function findDatabaseId(db: Queryable): Promise<string> {
  const rows = await db.query<{ id: string }>(sql`
    select left(encode(sha256(convert_to(concat_ws(' ', system_identifier,
      (select oid from pg_database where datname = current_database()),
      (select extract(epoch from max(started_at)) from restores)), 'UTF8')), 'hex'), 12) as id
    from pg_control_system()`);
  return onlyRow(rows).id;
}

/** The time of the database, as backups begin their ids with it: `20260305T140709123Z`. */
export async function readClock(db: Queryable): Promise<string> {
  const rows = await db.query<{ text: string }>(sql`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD"T"HH24MISSMS"Z"') as text`);
  return onlyRow(rows).text;
}

/** Whether the database has begun the backup with this id. */
export async function isKnown(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(sql`select from backups where id = ${id}`)).length > 0;
}

/** Whether the database has made no backup of this moment or a later one. */
export async function isOlderThan(db: Queryable, takenAt: string): Promise<boolean> {
  const rows = await db.query(sql`select from backups where taken_at >= ${takenAt} limit 1`);
  return rows.length === 0;
}

/** Those that are whole, the newest first; behind them those of a clock that was ahead. */
const wholeBackups = sql`backups where finished_at is not null and error_code is null and taken_at is not null
  order by taken_at > now(), taken_at desc`;

/** Finds the newest backup that is whole; undefined when there is none. */
export async function findLastBackup(db: Queryable): Promise<LastBackup | undefined> {
  const [last] = await db.query<LastBackup>(sql`
    select id, place, taken_at, finished_at, records, size_bytes, verified_at from ${wholeBackups} limit 1`);
  return last;
}

/** Whether the last whole backup, or without one the oldest data, is older than so many hours; never with 0. */
export async function isBackupOverdue(db: Queryable, hours: number): Promise<boolean> {
  if (hours === 0) return false;
  const has = async (rows: Sql) => (await db.query(sql`select from ${rows} limit 1`)).length > 0;
  const bound = sql`(now() - make_interval(hours => ${hours}))`;
  const whole = sql`backups where finished_at is not null and error_code is null`;
  // One of a time to come says nothing of how old it is.
  if (await has(sql`${whole} and taken_at > ${bound} and taken_at <= now()`)) return false;
  return (
    (await has(sql`${whole} and taken_at is not null`)) ||
    (await has(sql`incidents where created_at < ${bound}`)) ||
    // What there was at the end of a day, in all.
    (await has(sql`stored_days
      where tenant = '' and day < (${bound} at time zone 'UTC')::date and hot_count + cold_count > 0`))
  );
}

/** Writes down that a backup begins. Those that were killed before have failed: the caller holds the database's lock. */
export async function insertRun(
  db: Queryable,
  run: { id: string; place: string; isIncremental: boolean },
): Promise<void> {
  await db.query(sql`
    update backups set finished_at = now(), error_code = 'interrupted',
      error = 'Its process ended before the backup was whole.'
    where finished_at is null`);
  await db.query(sql`
    insert into backups (id, place, is_incremental) values (${run.id}, ${run.place}, ${run.isIncremental})`);
}

export async function finishRun(
  db: Queryable,
  run: { id: string; takenAt: string; records: number; sizeBytes: number; newBytes: number },
): Promise<void> {
  await db.query(sql`
    update backups set finished_at = now(), taken_at = ${run.takenAt}, records = ${run.records},
      size_bytes = ${run.sizeBytes}, new_bytes = ${run.newBytes}
    where id = ${run.id}`);
}

export async function failRun(
  db: Queryable,
  run: { id: string; code: string; error: string },
): Promise<void> {
  await db.query(sql`
    update backups set finished_at = now(), error_code = ${run.code}, error = ${run.error}
    where id = ${run.id} and finished_at is null`);
}

/** Forgets runs that began so many days ago, but never the last good one. */
export async function forgetRuns(db: Queryable, days: number): Promise<void> {
  await db.query(sql`
    delete from backups where started_at < now() - make_interval(days => ${days}) and id is distinct from (
      select id from ${wholeBackups} limit 1)`);
}

/** A table as it is in the database. */
export type LiveTable = {
  readonly name: string;
  /** Without those that PostgreSQL computes. */
  readonly columns: readonly string[];
  /** The tables that its foreign keys refer to. */
  readonly refers_to: readonly string[];
  readonly has_triggers: boolean;
  readonly size_bytes: number;
};

/** Looks at these tables. One that does not exist is left out. */
export async function describeTables(
  db: Queryable,
  names: readonly string[],
): Promise<LiveTable[]> {
  return db.query<LiveTable>(sql`
    select given.name, array(
        select attname::text from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped and attgenerated = ''
        order by attnum) as columns,
      array(
        select target.relname::text from pg_constraint c join pg_class target on target.oid = c.confrelid
        where c.conrelid = class.oid and c.contype = 'f') as refers_to,
      exists (select from pg_trigger where tgrelid = class.oid and not tgisinternal) as has_triggers,
      pg_total_relation_size(class.oid) as size_bytes
    from unnest(${names}::text[]) with ordinality as given(name, number)
    join pg_class class on class.oid = to_regclass(given.name)
    order by given.number`);
}

/** Tables that stay readable whoever was erased: proofs of what was done, as a chain that lacks no entry. */
const nobodys: readonly string[] = ['audit_log', 'erasures'];

/** Whose the rows of a table are, in SQL, and what it must be joined with to know; null when they are no tenant's. */
export function ownerOf({ name, columns }: LiveTable): TableOwner | null {
  if (nobodys.includes(name)) return null;
  const endpoint = columns.includes('endpoint_id');
  const delivery = !endpoint && columns.includes('delivery_id');
  const owners = [
    ...(columns.includes('tenant') ? ['t.tenant'] : []),
    ...(endpoint ? ['e.tenant'] : delivery ? ['d.tenant'] : []),
  ];
  if (owners.length === 0) return null;
  const join = endpoint
    ? 'left join webhook_endpoints e on e.id = t.endpoint_id'
    : delivery
      ? 'left join deliveries d on d.lane = t.lane and d.id = t.delivery_id'
      : '';
  return { owner: `coalesce(${owners.join(', ')})`, join };
}

/** The tenants that were erased whole, with the moment of it in microseconds, which names the key of what came after. */
export async function listEndedKeys(db: Queryable): Promise<Map<string, string>> {
  const rows = await db.query<{ tenant: string; ended: string }>(sql`
    select tenant, max((extract(epoch from backup_key_ended_at) * 1000000)::bigint)::text as ended from erasures where backup_key_ended_at is not null group by tenant`);
  return new Map(rows.map(({ tenant, ended }) => [tenant, ended]));
}

/** Most tenants that have anything: the keys of others are found when their rows come. */
export async function listTenants(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ tenant: string }>(sql`
    select tenant from leaf_tenants where tenant not in ('', '*') union select tenant from webhook_endpoints`);
  return rows.map(({ tenant }) => tenant);
}

/** The columns whose values come from a sequence, and what it gives out next. */
export async function listSequences(
  db: Queryable,
  tables: readonly string[],
): Promise<SavedSequence[]> {
  return db.query<SavedSequence>(sql`
    select given.name as "table", attname::text as "column",
      coalesce(pg_sequence_last_value(pg_get_serial_sequence(given.name, attname)::regclass), 0) + 1 as next
    from unnest(${tables}::text[]) as given(name)
    join pg_attribute on attrelid = to_regclass(given.name) and attnum > 0 and attidentity <> ''`);
}

export async function setSequence(
  db: Queryable,
  { table, column, next }: SavedSequence,
): Promise<void> {
  await db.query(
    sql`select setval(pg_get_serial_sequence(${table}, ${column})::regclass, ${next}, false)`,
  );
}

/** The partitions of records, as `YYYY-MM`, the first month first. */
export async function listMonths(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ month: string }>(sql`
    select replace(right(relname, 7), '_', '-') as month from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass order by 1`);
  return rows.map(({ month }) => month);
}

/** What proves the records of a month, computed from its rows; undefined when there are none. */
export async function sumMonth(
  db: Queryable,
  table: string,
): Promise<Omit<RecordMonth, 'month'> | undefined> {
  const [sums] = await db.query<Omit<RecordMonth, 'month'> & { newest: string | null }>(sql`
    select count(*) as count, coalesce(sum(bytes), 0)::bigint as bytes,
      mod(mod(coalesce(sum(digest), 0), 18446744073709551616) + 18446744073709551616,
        18446744073709551616)::text as digest, max(recorded_at)::text as newest
    from ${raw(table)}`);
  return sums?.newest == null ? undefined : sums;
}

/** What the counters of all tenants say. */
export async function sumCounters(db: Queryable): Promise<Triple & { hot: number }> {
  const rows = await db.query<Triple & { hot: number }>(sql`
    select coalesce(sum(count), 0)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes,
      mod(coalesce(sum(digest), 0), 18446744073709551616)::text as digest,
      coalesce(sum(count - cold_count), 0)::bigint as hot
    from leaf_tenants`);
  return onlyRow(rows);
}

export async function countObjects(db: Queryable): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select (select count(*) from segments) + (select count(*) from export_parts)
      + (select count(*) from exports where ends is not null) as count`);
  return onlyRow(rows).count;
}

/** The migrations that make the schema of a backup: not those that the baseline stands for. */
export async function listMigrations(db: Queryable): Promise<Applied[]> {
  return db.query(sql`
    select name, checksum from schema_migrations where name <> all(${[...replaced.keys()]}) order by name`);
}

/** Notes that all of a backup was read back and found right. */
export async function noteVerified(db: Queryable, id: string): Promise<void> {
  await db.query(sql`update backups set verified_at = now() where id = ${id}`);
}

/** What a backup holds of the objects that the database refers to. */
export type ObjectRow = {
  key: string;
  size_bytes: number;
  sha256: string;
  tenant: string;
  count: number | null;
  bytes: number | null;
  digest: string | null;
};

const objectsAtOnce = 1000;

/** The exports whose files stay; parts that are being written have no SHA-256 yet. */
const keptExports = sql`(
  select tenant, id, ends from exports
  where files_removed_at is null and (expires_at is null or expires_at > now())
) e`;

/** All objects that this database needs, by tenant and key: segments, outputs of open moves, files of live exports. */
export async function* eachObject(db: Queryable): AsyncGenerator<ObjectRow[]> {
  let [tenant, key] = ['', ''];
  for (;;) {
    const page = await db.query<ObjectRow>(sql`
      select tenant, object_key as key, size_bytes, encode(sha256, 'hex') as sha256, count, bytes,
        digest::text as digest
      from (
        select tenant, object_key, size_bytes, sha256, count, bytes, digest from segments
        union all
        select s.tenant, s.object_key, s.size_bytes, s.sha256, null, null, null
        from moves m join move_segments s on s.tenant = m.tenant and s.move_id = m.id and s.role = 'out'
        where m.state in ('copied', 'verified') and s.sha256 is not null
        union all
        select p.tenant, p.object_key, p.size_bytes, p.sha256, null, null, null
        from ${keptExports} join export_parts p on p.tenant = e.tenant and p.export_id = e.id
        where p.sha256 is not null
        union all
        select e.tenant, ends.object_key, ends.head_bytes + ends.tail_bytes, decode(ends.sha256, 'hex'),
          null, null, null
        from ${keptExports}, json_to_record(e.ends) as ends (
          object_key text collate "C", sha256 text, head_bytes bigint, tail_bytes bigint)
        where e.ends is not null
      ) objects
      where (tenant, object_key) > (${tenant}, ${key}) order by tenant, object_key limit ${objectsAtOnce}`);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < objectsAtOnce) return;
    ({ tenant, key } = last);
  }
}
