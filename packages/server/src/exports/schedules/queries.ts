import sql, { raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { ExportRequest } from '../contract.ts';
import type { JobId } from '../jobs/job.ts';
import type { TypedSchema } from '../jobs.contract.ts';
import type { Schedule } from '../schedules.contract.ts';
import type { ExportFormat } from '../values.ts';

/** A schedule as it is stored, and its last run. */
export type StoredSchedule = JobId &
  Pick<Schedule, 'name' | 'cron' | 'access_key_id' | 'webhook' | 'due_at' | 'last_run'> &
  Pick<Schedule, 'delivered_before' | 'created_by' | 'created_at'> & {
    readonly format: ExportFormat;
    readonly request: ExportRequest;
    readonly target: string;
    readonly secret: Buffer | null;
    readonly enabled: boolean;
    readonly token_id: string;
    /** Not in lists. */
    readonly typed_schema?: TypedSchema | null;
    /** Whether a run is under way, or lacks its marker only. */
    readonly is_running: boolean;
  };

/** The last run of the schedule `s`. */
const lastRun = sql`left join lateral (
    select id, state, rows_total, delivery, delivered_to, delivered_at, created_at, finished_at, error,
      state in ('queued', 'running') or delivery is not null and delivered_at is null and place is null as is_open
    from exports where schedule_id = s.id order by exports.created_at desc, id desc limit 1
  ) e on true`;

const columns = sql`s.tenant, s.id, s.name, s.cron, s.format, s.request, s.target, s.access_key_id, s.secret, s.webhook,
  s.enabled, ${instantText('s.due_at')} as due_at, ${instantText('s.delivered_before')} as delivered_before,
  s.created_by, s.token_id, ${instantText('s.created_at')} as created_at,
  coalesce(e.is_open, false) as is_running,
  case when e.id is not null then json_build_object('id', e.id, 'state', e.state, 'rows', e.rows_total,
    'misfits', (e.delivery->>'misfits')::bigint, 'skipped', (e.delivery->>'skipped')::bigint,
    'delivered_to', e.delivered_to, 'delivered_at', ${instantText('e.delivered_at')},
    'created_at', ${instantText('e.created_at')}, 'error', e.error) end as last_run`;

/** The columns of one schedule; a list would be slow with the last. */
const ownColumns = sql`${columns}, s.typed_schema`;

/** What is stored of a new schedule. */
export type NewRow = Omit<StoredSchedule, 'last_run' | 'is_running' | 'enabled' | 'created_at'>;

/** Stores a schedule. Returns false when the tenant has one of this name. */
export async function insertSchedule(db: Queryable, row: NewRow): Promise<boolean> {
  const rows = await db.query(sql`
    insert into export_schedules (tenant, id, name, cron, format, request, target, access_key_id, secret,
      webhook, typed_schema, due_at, delivered_before, created_by, token_id)
    values (${row.tenant}, ${row.id}, ${row.name}, ${row.cron}, ${row.format},
      ${JSON.stringify(row.request)}::json, ${row.target}, ${row.access_key_id}, ${row.secret},
      ${row.webhook}, ${row.typed_schema ? JSON.stringify(row.typed_schema) : null}::json, ${row.due_at}::timestamptz, ${row.delivered_before}::timestamptz, ${row.created_by}, ${row.token_id})
    on conflict (tenant, name) where deleted_at is null do nothing returning id`);
  return rows.length === 1;
}

export async function countSchedules(db: Queryable, tenant: string): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from export_schedules where tenant = ${tenant} and deleted_at is null`);
  return rows[0]?.count ?? 0;
}

const isReached = (reach: readonly string[] | null): Sql =>
  sql`(${reach}::text[] is null or s.tenant = any(${reach}::text[]))`;

/** Finds a schedule of the tenants in reach (null: all); with `forUpdate` it stays as it is until the end. */
export async function findSchedule(
  db: Queryable,
  { id, reach }: { id: string; reach: readonly string[] | null },
  { forUpdate = false } = {},
): Promise<StoredSchedule | undefined> {
  const rows = await db.query<StoredSchedule>(sql`
    select ${ownColumns} from export_schedules s ${lastRun}
    where s.id = ${id} and ${isReached(reach)} and s.deleted_at is null
    ${raw(forUpdate ? 'for update of s' : '')}`);
  return rows[0];
}

/** The place of a run. */
type RunPlace = Pick<StoredSchedule, 'target' | 'access_key_id' | 'secret'> & {
  readonly schedule_id: string;
};

/** Where a run delivers: as its schedule does, or did when it was led elsewhere. Also of one that was deleted since. */
export async function findTarget(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<RunPlace | undefined> {
  const own = (left: string, now: string) =>
    raw(`case when e.place is null then s.${now} else e.${left} end as ${now}`);
  const rows = await db.query<RunPlace>(sql`
    select s.id as schedule_id, ${own('place', 'target')}, ${own('place_key_id', 'access_key_id')},
      ${own('place_secret', 'secret')}
    from exports e join export_schedules s on s.tenant = e.tenant and s.id = e.schedule_id
    where e.tenant = ${tenant} and e.id = ${id}`);
  return rows[0];
}

/** The last run of a locked schedule, if open. It may have begun during the wait: ask by a statement of its own. */
const isOpenRun = ({ tenant, id }: JobId): Sql => sql`tenant = ${tenant}
  and (state in ('queued', 'running') or delivery is not null and delivered_at is null)
  and id = (select e.id from exports e where e.schedule_id = ${id} order by e.created_at desc, e.id desc limit 1)`;

/** Has a run that is under way end at the place where it began. */
export async function keepPlaceOfRun(
  connection: Connection,
  schedule: StoredSchedule,
): Promise<void> {
  const { target, access_key_id, secret } = schedule;
  await connection.query(sql`
    update exports set place = ${target}, place_key_id = ${access_key_id}, place_secret = ${secret}
    where ${isOpenRun(schedule)} and place is null`);
}

/** Has the end of a run that is under way reported, or not. */
export async function setUntold(
  connection: Connection,
  schedule: JobId,
  isUntold: boolean,
): Promise<void> {
  await connection.query(sql`update exports set untold = ${isUntold} where ${isOpenRun(schedule)}`);
}

/** Lists schedules by tenant and name, beginning after `page.after`. */
export async function listSchedules(
  db: Queryable,
  { tenant, reach }: { tenant: string | undefined; reach: readonly string[] | null },
  page: { after: readonly string[] | null; limit: number },
): Promise<StoredSchedule[]> {
  const [afterTenant, afterName] = page.after ?? [null, null];
  return db.query<StoredSchedule>(sql`
    select ${columns} from export_schedules s ${lastRun}
    where s.deleted_at is null and ${isReached(reach)}
      and (${tenant ?? null}::text is null or s.tenant = ${tenant ?? null})
      and (${afterTenant}::text is null or (s.tenant, s.name collate "C") > (${afterTenant}, ${afterName}))
    order by s.tenant, s.name collate "C" limit ${page.limit}`);
}

export async function updateSchedule(db: Queryable, row: StoredSchedule): Promise<void> {
  await db.query(sql`
    update export_schedules set cron = ${row.cron}, enabled = ${row.enabled},
      due_at = ${row.due_at}::timestamptz, target = ${row.target}, access_key_id = ${row.access_key_id},
      secret = ${row.secret}, webhook = ${row.webhook}
    where tenant = ${row.tenant} and id = ${row.id}`);
}

/** Deletes a schedule, and cancels its run. */
export async function deleteSchedule(connection: Connection, { tenant, id }: JobId): Promise<void> {
  await connection.query(sql`
    update export_schedules set deleted_at = now(), due_at = null where tenant = ${tenant} and id = ${id}`);
  await connection.query(sql`
    update exports set state = 'cancelled', finished_at = now(), expires_at = now(), error_code = null,
      error = null
    where schedule_id = ${id} and tenant = ${tenant} and state in ('queued', 'running')`);
}

/** A schedule whose run failed goes on after this time, or at its next one if that comes first. */
const againAfter = raw(`interval '1 hour'`);

/** Whether the schedule `s` with the last run `e` is to begin a run now. */
const isDue = sql`s.deleted_at is null and not coalesce(e.is_open, false) and (s.due_at <= now()
  or s.enabled and e.state = 'failed' and e.finished_at <= now() - ${againAfter})`;

/** Lists schedules that are to begin a run, those that wait the longest first. */
export async function listDue(
  db: Queryable,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<StoredSchedule[]> {
  return db.query<StoredSchedule>(sql`
    select ${columns} from export_schedules s ${lastRun}
    where ${isDue} and s.id <> all(${[...except]}::text[]) order by s.due_at limit ${limit}`);
}

/** Locks a schedule until the end of the transaction, and finds it as it is then, if it is to begin a run. */
export async function lockDue(
  connection: Connection,
  { tenant, id }: JobId,
): Promise<(StoredSchedule & { readonly now: number }) | undefined> {
  await connection.query(
    sql`select from export_schedules where tenant = ${tenant} and id = ${id} for update`,
  );
  // A statement of its own sees what was committed while this one waited.
  const rows = await connection.query<StoredSchedule & { now: number }>(sql`
    select ${ownColumns}, extract(epoch from now())::float8 * 1000 as now
    from export_schedules s ${lastRun} where s.tenant = ${tenant} and s.id = ${id} and ${isDue}`);
  return rows[0];
}

/** Says when a schedule begins its next run: at a time, `now`, or never by itself. */
export async function setDue(
  db: Queryable,
  { tenant, id }: JobId,
  dueAt: string | null,
): Promise<void> {
  await db.query(sql`
    update export_schedules set due_at = ${dueAt}::timestamptz where tenant = ${tenant} and id = ${id}`);
}

/** Forgets the secrets of deleted schedules that have nothing more to mark. */
export async function dropSecrets(db: Queryable): Promise<void> {
  await db.query(sql`
    update export_schedules s set secret = null
    where deleted_at is not null and secret is not null and not exists (
      select from exports e where e.schedule_id = s.id and e.delivery is not null and e.delivered_at is null)`);
}

/** So many schedules that need somebody are told of by name. */
const mostTroubled = 100;

/** Schedules that go on by themselves and need somebody: the last run failed, or they are late by half an hour. */
export async function listTroubledSchedules(
  db: Queryable,
  reach: readonly string[] | null,
): Promise<
  { id: string; tenant: string; name: string; state: 'failing' | 'late'; since: string | null }[]
> {
  const long = raw(`now() - interval '30 minutes'`);
  return db.query(sql`
    select s.id, s.tenant, s.name, case when e.state = 'failed' then 'failing' else 'late' end as state,
      ${instantText('coalesce(e.finished_at, s.due_at)')} as since
    from export_schedules s ${lastRun}
    where s.deleted_at is null and s.enabled and ${isReached(reach)} and (e.state = 'failed'
      or s.due_at < ${long} or e.is_open and e.finished_at < ${long})
    order by s.tenant, s.name limit ${mostTroubled}`);
}

/** The sealed secrets of schedules, and of places that they have left, each with the id of its schedule. */
export async function listSealedSchedules(
  db: Queryable,
): Promise<{ id: string; secret: Buffer }[]> {
  return db.query(sql`
    select id, secret from export_schedules where secret is not null
    union select schedule_id, place_secret from exports where place_secret is not null order by id`);
}

/** Stores the same secret, sealed anew, unless somebody has changed it since it was read. */
export async function replaceSealedSchedule(
  db: Queryable,
  before: { id: string; secret: Buffer },
  secret: Buffer,
): Promise<void> {
  await db.query(sql`
    update export_schedules set secret = ${secret} where id = ${before.id} and secret = ${before.secret}`);
  await db.query(sql`
    update exports set place_secret = ${secret}
    where schedule_id = ${before.id} and place_secret = ${before.secret}`);
}
