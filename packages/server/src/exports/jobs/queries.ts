import sql, { raw } from 'sql-template-tag';
import type { StateRow } from '../../platform/metrics/figures.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { KeyRange } from '../../records/index.ts';
import type { ExportState } from '../values.ts';
import type { JobId, JobVersion, PinnedJobSlice, ShownJob, StoredJob } from './job.ts';

/** A job that waits for the store is stored as queued, as the previous release knows it. */
const shownState = sql`case when state = 'queued' and waiting_since is not null then 'waiting' else state end`;

/** The columns of `ShownJob`. */
const shownColumns = sql`tenant, id, format, ${shownState} as state, request, options, file_name,
  ${instantText('recorded_before')} as recorded_before, version, rows_total, bytes_total,
  digest::text as digest, parts_total, rows_done, size_bytes, sha256, requested_by,
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
  error_code, error, runner, attempts, failures`;

/** The columns of `StoredJob`. */
export const jobColumns = sql`${shownColumns}, slice, ends, manifest`;

/**
 * Locks the queue of a tenant until the end of the transaction. Meanwhile no other job of the tenant is made, and no
 * erasure looks for jobs; see `noteGoneExports`.
 */
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
  Pick<StoredJob, 'request' | 'options' | 'file_name' | 'requested_by'> & {
    readonly slice: PinnedJobSlice & { readonly recordedBefore: string };
    readonly version: JobVersion | null;
    readonly triple: { count: number; bytes: number; digest: string } | null;
    readonly tokenId: string;
  };

export async function insertJob(db: Queryable, job: NewJob): Promise<StoredJob | undefined> {
  const { slice, version, triple } = job;
  const rows = await db.query<StoredJob>(sql`
    insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before,
      version_id, version, rows_total, bytes_total, digest, requested_by, token_id)
    values (${job.tenant}, ${job.id}, ${job.options.format}, ${JSON.stringify(job.request)}::json,
      ${JSON.stringify(job.options)}::json, ${job.file_name}, ${JSON.stringify(slice)}::json,
      ${slice.recordedBefore}::timestamptz, ${version?.id ?? null},
      ${version === null ? null : JSON.stringify(version)}::json, ${triple?.count ?? null},
      ${triple?.bytes ?? null}, ${triple?.digest ?? null}::numeric, ${job.requested_by}, ${job.tokenId})
    returning ${jobColumns}`);
  return rows[0];
}

/** Stores the parts that a file is cut into, numbered from 1. From then on the job knows how many they are. */
export async function insertParts(
  connection: Connection,
  { tenant, id }: JobId,
  parts: readonly KeyRange[],
): Promise<void> {
  await connection.query(sql`
    insert into export_parts (tenant, export_id, number, first_store, first_day, last_store, last_day,
      min_day, max_day)
    select ${tenant}, ${id}, number, first_store, first_day, last_store, last_day, min_day, max_day
    from unnest(${parts.map(({ first }) => first.store)}::text[],
      ${parts.map(({ first }) => first.day)}::date[], ${parts.map(({ last }) => last.store)}::text[],
      ${parts.map(({ last }) => last.day)}::date[], ${parts.map(({ minDay }) => minDay)}::date[],
      ${parts.map(({ maxDay }) => maxDay)}::date[]) with ordinality
      as part (first_store, first_day, last_store, last_day, min_day, max_day, number)`);
  await connection.query(sql`
    update exports set parts_total = ${parts.length} where tenant = ${tenant} and id = ${id}`);
}

/** What a version holds now: what was frozen, or what is left of it. `triple` is null while that is being counted. */
export type VersionContent = {
  state: 'counting' | 'ready' | 'failed';
  triple: { count: number; bytes: number; digest: string } | null;
  error: string | null;
};

export async function findVersionContent(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<VersionContent | undefined> {
  const rows = await db.query<VersionContent>(sql`
    select state, error, case
      when change is null then json_build_object('count', count, 'bytes', bytes, 'digest', digest::text)
      when state = 'ready' then json_build_object('count', current_count, 'bytes', current_bytes,
        'digest', current_digest::text)
    end as triple
    from dataset_versions where tenant = ${tenant} and id = ${id}`);
  return rows[0];
}

/** Finds the records and digests (decimal text) of a version's splits; null while they are not counted. */
export async function findSplits(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<Record<string, { count: number; digest: string }> | null> {
  const rows = await db.query<{ splits: Record<string, { count: number; digest: string }> | null }>(
    sql`select splits from dataset_versions where tenant = ${tenant} and id = ${id} and state = 'ready'`,
  );
  return rows[0]?.splits ?? null;
}

/** Finds a job of the tenants in reach; null means all tenants. */
export async function findJob(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<StoredJob | undefined> {
  const rows = await db.query<StoredJob>(sql`
    select ${jobColumns} from exports
    where id = ${id} and (${reach}::text[] is null or tenant = any(${reach}::text[]))`);
  return rows[0];
}

/** Whether this token asked for the job. */
export async function isMaker(
  db: Queryable,
  { tenant, id }: JobId,
  tokenId: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    select from exports where tenant = ${tenant} and id = ${id} and token_id = ${tokenId}`);
  return rows.length === 1;
}

export type JobFilter = {
  readonly tenant: string | undefined;
  readonly state: ExportState | undefined;
  readonly reach: readonly string[] | null;
};

/** Lists jobs, the latest first, beginning after `page.after`. */
export async function listJobs(
  db: Queryable,
  { tenant, state, reach }: JobFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<ShownJob[]> {
  const [createdAt, id] = page.after ?? [null, null];
  const ofTenant = tenant === undefined ? raw('true') : sql`tenant = ${tenant}`;
  const inState = state === undefined ? raw('true') : sql`${shownState} = ${state}`;
  const inReach = reach === null ? raw('true') : sql`tenant = any(${reach}::text[])`;
  const behind =
    page.after === null
      ? raw('true')
      : sql`(exports.created_at, id) < (${createdAt}::timestamptz, ${id})`;
  return db.query<ShownJob>(sql`
    select ${shownColumns} from exports where ${ofTenant} and ${inState} and ${inReach} and ${behind}
    order by exports.created_at desc, id desc limit ${page.limit}`);
}

/** Jobs that are queued or running, the oldest first. An index has only these. */
export async function listOpenJobs(
  db: Queryable,
  reach: readonly string[] | null,
  limit: number,
): Promise<ShownJob[]> {
  const inReach = reach === null ? raw('true') : sql`tenant = any(${reach}::text[])`;
  return db.query<ShownJob>(sql`
    select ${shownColumns} from exports where state in ('queued', 'running') and ${inReach}
    order by exports.created_at, id limit ${limit}`);
}

/** Counts them by state, for the metrics. */
export async function countOpenByState(db: Queryable): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    select state, count(*) as count, extract(epoch from now() - min(created_at))::float8 as age_seconds
    from exports where state in ('queued', 'running') group by state`);
}

/** A job that has ended, with or without a file. */
export type EndedJob = Pick<ShownJob, 'id' | 'tenant' | 'file_name' | 'error'> & {
  state: 'completed' | 'failed';
  finished_at: string;
};

/** Lists the jobs that ended since a time (null: lately), the oldest first. */
export async function listEndedJobs(
  db: Queryable,
  { since, limit }: { since: string | null; limit: number },
): Promise<EndedJob[]> {
  return db.query<EndedJob>(sql`
    select id, tenant, file_name, error, state, ${instantText('finished_at')} as finished_at from exports
    where exports.finished_at >= coalesce(${since}::timestamptz, now()) - interval '15 minutes'
      and state in ('completed', 'failed')
    order by exports.finished_at limit ${limit}`);
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
