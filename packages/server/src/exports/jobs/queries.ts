import sql, { raw, type Sql } from 'sql-template-tag';
import {
  findJobRow,
  isOfTenantsOrStores,
  type JobSource,
  type ListedTable,
  listJobRows,
  selectJobs,
} from '../../platform/jobs/listed-queries.ts';
import type { StateRow } from '../../platform/metrics/figures.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks, areObjectsHeld, isHeldLock } from '../../platform/postgres/locks.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import type { KeyRange } from '../../records/index.ts';
import type { ExportState } from '../values.ts';
import type { FileEnds, JobId, JobVersion, PinnedJobSlice, ShownJob, StoredJob } from './job.ts';

/** A job that waits for the store is stored as queued, as the previous release knows it. */
const shownState = sql`case when state = 'queued' and waiting_since is not null then 'waiting' else state end`;

/** The columns of `ShownJob`. */
const shownColumns = sql`tenant, id, format, ${shownState} as state, request, options, file_name,
  ${instantText('recorded_before')} as recorded_before, version, rows_total, bytes_total,
  digest::text as digest, parts_total, rows_done, size_bytes, sha256, requested_by, schedule_id,
  schedule_name, delivered_to, ${instantText('delivered_at')} as delivered_at,
  ${instantText('created_at')} as created_at, ${instantText('started_at')} as started_at,
  ${instantText('finished_at')} as finished_at, ${instantText('expires_at')} as expires_at,
  state = 'completed' and files_removed_at is null and expires_at > now() as has_file,
  case
    when state = 'running' and now() > taken_at
      then ((rows_done - rows_before) / extract(epoch from now() - taken_at))::bigint
    when state in ('completed', 'erased') and finished_at > taken_at
      then ((rows_done - rows_before) / extract(epoch from finished_at - taken_at))::bigint
  end as rows_per_second,
  case when state = 'queued' then ${instantText('waiting_since')} end as waiting_since,
  error_code, error, token_id, attempts, failures`;

/** The columns of `StoredJob`. */
export const jobColumns = sql`${shownColumns}, slice, ends, manifest, typed_schema`;

/** Whether any session holds the lock of the job `j`. The locks are read once for the whole statement. */
export const isWorkedOn = sql`(hashtext(j.id)::bigint & 4294967295)::oid in (
  select objid from pg_locks where ${isHeldLock('exportJobs')})`;

const source: JobSource = {
  name: 'exports',
  requestedAt: 'created_at',
  isInReach: isOfTenantsOrStores,
};

/** Where the list of all jobs finds exports. */
export const listedExports: ListedTable = {
  ...source,
  requestedBy: raw('j.requested_by'),
  state: sql`case when j.state = 'erased' then 'completed' else ${shownState} end`,
  startedAt: 'started_at',
  finishedAt: 'finished_at',
  done: raw('j.rows_done'),
  total: raw('j.rows_total'),
  error: raw('j.error'),
  told: sql`json_build_object('file_name', j.file_name, 'is_erased', j.state = 'erased')`,
};

/** Locks the queue of a tenant: until the commit no other job of it is made, and no erasure looks for its jobs. */
export async function lockQueue(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.exportQueue}, hashtext(${tenant}))`,
  );
}

/** Counts the jobs of the tenant that are queued or running. */
export async function countOpenJobs(
  db: Queryable,
  tenant: string,
  tokenId: string,
): Promise<{ all: number; own: number }> {
  const rows = await db.query<{ all: number; own: number }>(sql`
    select count(*) as all, count(*) filter (where token_id = ${tokenId}) as own
    from exports where tenant = ${tenant} and state in ('queued', 'running')`);
  return rows[0] ?? { all: 0, own: 0 };
}

/** A job to be stored. `triple` is null when the counters could not tell what the slice holds. */
export type NewJob = JobId &
  Pick<StoredJob, 'request' | 'options' | 'file_name' | 'requested_by' | 'typed_schema'> & {
    readonly slice: PinnedJobSlice & { readonly recordedBefore: string };
    readonly version: JobVersion | null;
    readonly triple: { count: number; bytes: number; digest: string } | null;
    readonly tokenId: string;
    /** For a run of a schedule: which, the folder into which it delivers, and whether its end is to be reported. */
    readonly schedule?: {
      readonly id: string;
      readonly name: string;
      readonly deliversTo: string;
      readonly isUntold: boolean;
    };
  };

export async function insertJob(db: Queryable, job: NewJob): Promise<StoredJob | undefined> {
  const { slice, version, triple, typed_schema, schedule } = job;
  // The previous release would write another file, of all records, of text or of records, and deliver nothing.
  const { where, groupBy } = slice;
  const isOfSlice = where !== undefined || groupBy !== undefined;
  const isOfForm = typed_schema !== null || job.options.template !== undefined;
  const notBefore = isOfSlice || isOfForm || schedule !== undefined ? 'infinity' : null;
  const rows = await db.query<StoredJob>(sql`
    insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before,
      version_id, version, rows_total, bytes_total, digest, requested_by, token_id, typed_schema, not_before,
      schedule_id, schedule_name, delivered_to, untold)
    values (${job.tenant}, ${job.id}, ${job.options.format}, ${JSON.stringify(job.request)}::json,
      ${JSON.stringify(job.options)}::json, ${job.file_name}, ${JSON.stringify(slice)}::json,
      ${slice.recordedBefore}::timestamptz, ${version?.id ?? null},
      ${toJson(version)}::json, ${triple?.count ?? null},
      ${triple?.bytes ?? null}, ${triple?.digest ?? null}::numeric, ${job.requested_by}, ${job.tokenId},
      ${toJson(job.typed_schema)}::json, ${notBefore}::timestamptz, ${schedule?.id ?? null},
      ${schedule?.name ?? null}, ${schedule?.deliversTo ?? null}, ${schedule?.isUntold ?? false})
    returning ${jobColumns}`);
  return rows[0];
}

function toJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Stores the parts that a file is cut into, numbered from 1. From then on the job knows how many they are. */
export async function insertParts(
  connection: Connection,
  { tenant, id }: JobId,
  parts: readonly KeyRange[],
): Promise<void> {
  const rows = parts.map(({ first, last, ...days }, index) => ({
    first_store: first.store,
    first_day: first.day,
    ...days,
    number: index + 1,
    last_store: last.store,
    last_day: last.day,
  }));
  await connection.query(sql`
    insert into export_parts (tenant, export_id, number, first_store, first_day, last_store, last_day,
      min_day, max_day)
    select ${tenant}, ${id}, number, first_store, first_day, last_store, last_day, min_day, max_day
    from ${givenRows('part', rows, {
      first_store: 'text',
      first_day: 'date',
      last_store: 'text',
      last_day: 'date',
      minDay: 'date',
      maxDay: 'date',
      number: 'integer',
    })}`);
  await connection.query(sql`
    update exports set parts_total = ${parts.length} where tenant = ${tenant} and id = ${id}`);
}

/** Finds a job of the tenants in reach; null means all tenants. */
export async function findJob(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<StoredJob | undefined> {
  return findJobRow<StoredJob>(db, source, jobColumns, { id, reach });
}

export type JobFilter = {
  readonly tenant: string | undefined;
  readonly state: ExportState | undefined;
  readonly schedule: string | undefined;
  readonly reach: readonly string[] | null;
};

/** Lists jobs, the latest first, beginning after `page.after`. */
export async function listJobs(
  db: Queryable,
  { tenant, state, schedule, reach }: JobFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<ShownJob[]> {
  const conditions: Sql[] = [];
  if (tenant !== undefined) conditions.push(sql`tenant = ${tenant}`);
  if (state !== undefined) conditions.push(sql`${shownState} = ${state}`);
  if (schedule !== undefined) conditions.push(sql`schedule_id = ${schedule}`);
  return listJobRows<ShownJob>(db, source, shownColumns, { reach, conditions }, page);
}

/** Jobs that are queued or running, the oldest first. An index has only these. */
export async function listOpenJobs(
  db: Queryable,
  reach: readonly string[] | null,
  limit: number,
): Promise<ShownJob[]> {
  return db.query<ShownJob>(sql`
    ${selectJobs(source, shownColumns, reach)} and j.state in ('queued', 'running')
    order by j.created_at, j.id limit ${limit}`);
}

/** Counts them by state, for the metrics. */
export async function countOpenByState(db: Queryable): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    select state, count(*) as count, extract(epoch from now() - min(created_at))::float8 as age_seconds
    from exports where state in ('queued', 'running') group by state`);
}

/** A job that has ended, with or without a file. */
type EndedJob = Pick<ShownJob, 'id' | 'tenant' | 'file_name' | 'error'> & {
  state: 'completed' | 'failed';
  finished_at: string;
};

/** So many are told of at once; the others at the next look. */
const mostEnded = 10_000;

/** Lists jobs that ended since a time, or in the quarter of an hour before it, as a commit may be seen late. */
export async function listEndedExports(db: Queryable, since: string | null): Promise<EndedJob[]> {
  return db.query<EndedJob>(sql`
    select id, tenant, file_name, error, state, ${instantText('finished_at')} as finished_at from exports
    where exports.finished_at >= coalesce(${since}::timestamptz, now()) - interval '15 minutes'
      and state in ('completed', 'failed')
    order by exports.finished_at limit ${mostEnded}`);
}

/** Cancels a job that is queued or running; undefined when it is neither. A sweep removes what the job has made. */
export async function cancelOpenJob(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<StoredJob | undefined> {
  const rows = await db.query<StoredJob>(sql`
    update exports set state = 'cancelled', finished_at = now(), expires_at = now(), error_code = null,
      error = null
    where tenant = ${tenant} and id = ${id} and state in ('queued', 'running') returning ${jobColumns}`);
  return rows[0];
}

/** Lets the file of a completed job expire now; undefined when it has expired already, or the job is not completed. */
export async function expireJob(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<StoredJob | undefined> {
  const rows = await db.query<StoredJob>(sql`
    update exports set expires_at = now()
    where tenant = ${tenant} and id = ${id} and state = 'completed' and files_removed_at is null
      and expires_at > now()
    returning ${jobColumns}`);
  return rows[0];
}

/** Stores what the slice holds, when the counters could not tell. */
export async function updateTotals(
  db: Queryable,
  { tenant, id }: JobId,
  triple: { count: number; bytes: number; digest: string },
): Promise<void> {
  await db.query(sql`
    update exports set rows_total = ${triple.count}, bytes_total = ${triple.bytes},
      digest = ${triple.digest}::numeric
    where tenant = ${tenant} and id = ${id}`);
}

/** A part of a job's file whose object is durable and was read back. The digest is decimal text. */
export type DonePart = {
  readonly number: number;
  readonly object_key: string;
  readonly rows: number;
  readonly digest: string;
  readonly size_bytes: number;
  readonly sha256: Buffer;
  /** The size before compression. */
  readonly body_bytes: number;
  /** What the format needs to know of the part; null for formats that need nothing. */
  readonly layout: unknown;
};

/** A part with its records, of which no number is known until it is done. */
export type PartRow = { readonly range: KeyRange } & (
  | DonePart
  | { readonly number: number; readonly rows: null }
);

export async function listParts(db: Queryable, { tenant, id }: JobId): Promise<PartRow[]> {
  return db.query<PartRow>(sql`
    select number, json_build_object('first', json_build_object('store', first_store, 'day', first_day),
        'last', json_build_object('store', last_store, 'day', last_day), 'minDay', min_day, 'maxDay', max_day) as range,
      object_key, rows, digest::text as digest, size_bytes, sha256, body_bytes, layout
    from export_parts where tenant = ${tenant} and export_id = ${id} order by number`);
}

/** Stores the key under which the part will be written. An earlier result of the part is dropped. */
export async function startPart(
  db: Queryable,
  { tenant, id }: JobId,
  part: { number: number; objectKey: string },
): Promise<void> {
  await db.query(sql`
    update export_parts set object_key = ${part.objectKey}, rows = null, digest = null, size_bytes = null,
      sha256 = null, body_bytes = null, layout = null
    where tenant = ${tenant} and export_id = ${id} and number = ${part.number}`);
}

/** An object that the file is read from. */
export type PartObject = Pick<DonePart, 'object_key' | 'size_bytes' | 'sha256'>;

/** Lists the objects of the parts that are done, in the order of the file. */
export async function listObjects(db: Queryable, { tenant, id }: JobId): Promise<PartObject[]> {
  return db.query<PartObject>(sql`
    select object_key, size_bytes, sha256 from export_parts
    where tenant = ${tenant} and export_id = ${id} and rows is not null order by number`);
}

/** Stores that the job gets on: its failures, and the hour that it waits for a store, are counted anew. */
export async function goOn(db: Queryable, { tenant, id }: JobId): Promise<void> {
  await db.query(sql`
    update exports set failures = 0, waiting_since = null
    where tenant = ${tenant} and id = ${id} and (failures > 0 or waiting_since is not null)`);
}

/** Stores that a part is done, in the transaction that holds the job. */
export async function finishPart(
  connection: Connection,
  { tenant, id }: JobId,
  part: DonePart,
): Promise<void> {
  const layout = part.layout === null ? null : JSON.stringify(part.layout);
  await connection.query(sql`
    update export_parts set rows = ${part.rows}, digest = ${part.digest}::numeric, size_bytes = ${part.size_bytes},
      sha256 = ${part.sha256}, body_bytes = ${part.body_bytes}, layout = ${layout}::json
    where tenant = ${tenant} and export_id = ${id} and number = ${part.number}`);
  await goOn(connection, { tenant, id });
}

/** Completes the job, which the transaction holds. */
export async function completeJob(
  connection: Connection,
  { tenant, id }: JobId,
  file: {
    sha256: Buffer;
    sizeBytes: number;
    rows: number;
    ends: FileEnds;
    manifest: unknown;
    days: number;
  },
): Promise<void> {
  await connection.query(sql`
    update exports set state = 'completed', sha256 = ${file.sha256}, size_bytes = ${file.sizeBytes},
      rows_done = ${file.rows}, ends = ${JSON.stringify(file.ends)}::json,
      manifest = ${JSON.stringify(file.manifest)}::json, finished_at = now(),
      expires_at = now() + make_interval(days => ${file.days}::int), error_code = null, error = null
    where tenant = ${tenant} and id = ${id}`);
}

/**
 * Lists jobs whose objects are of no use any more (cancelled, failed, expired) and that nobody works on; none while a
 * backup holds objects. They come in no order, so that those whose objects cannot be removed keep nobody from the others.
 */
export async function listSweepable(db: Queryable, limit: number): Promise<JobId[]> {
  return db.query<JobId>(sql`
    select j.tenant, j.id from exports j
    where j.files_removed_at is null and j.expires_at <= now() and not ${isWorkedOn}
      and not ${areObjectsHeld}
    order by random() limit ${limit}`);
}

/** Stores that a job has no objects any more. */
export async function markRemoved(db: Queryable, { tenant, id }: JobId): Promise<void> {
  await db.query(sql`
    update exports set files_removed_at = now()
    where tenant = ${tenant} and id = ${id} and files_removed_at is null and expires_at <= now()`);
}

/** Whether this part may lie in the folder of its run, also of a failed or cancelled one. */
export const mayBeDelivered = sql`p.rows is distinct from 0`;

/** Deletes jobs older than 90 days without objects. What was delivered stays known, for who asks where records went. */
export async function pruneJobs(db: Queryable): Promise<void> {
  await db.query(sql`
    with old as (
      delete from exports
      where created_at < now() - interval '90 days' and files_removed_at is not null
        and (delivered_to is null or rows_total = 0 or delivery is null and not exists (
          select from export_parts p
          where p.tenant = exports.tenant and p.export_id = exports.id and ${mayBeDelivered}))
      returning tenant, id
    )
    delete from export_parts p using old where p.tenant = old.tenant and p.export_id = old.id`);
}
