import sql from 'sql-template-tag';
import type { Queryable, Session } from '../../../platform/postgres/database.ts';
import { advisoryLocks, areObjectsHeld, isHeldLock } from '../../../platform/postgres/locks.ts';
import type { FileEnds, JobId, PinnedJobSlice, StoredJob } from '../job.ts';
import { jobColumns } from '../queries.ts';

/** A job as the process that works on it knows it. */
export type Held = JobId & { readonly runner: string };

/** Whether any session holds the lock of the job `e`. The locks are read once for the whole statement. */
export const isHeld = sql`(hashtext(e.id)::bigint & 4294967295)::oid in (
  select objid from pg_locks where ${isHeldLock('exportJobs')})`;

/** Whether there is a job, queued or left behind, that may be worked on and is not. */
export async function hasFreeJob(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    select exists (
      select from exports e where state in ('queued', 'running')
        and (not_before is null or not_before <= now()) and not ${isHeld}
    ) as has_free`);
  return rows[0]?.has_free ?? false;
}

/** Lets only one process at a time take a job. Whoever looks for one then sees all jobs that are held. */
export async function lockTaking(session: Session): Promise<void> {
  await session.query(sql`select pg_advisory_lock(${advisoryLocks.exportJobTaking}, 0)`);
}

export async function unlockTaking(session: Session): Promise<void> {
  await session.query(sql`select pg_advisory_unlock(${advisoryLocks.exportJobTaking}, 0)`);
}

/**
 * Finds the job whose turn it is: of the tenant that runs the fewest, and there of whoever runs the fewest, and had the
 * last turn the longest ago, the oldest job. Tenants that already run as many as they may are left out.
 */
export async function findNextJob(session: Session, perTenant: number): Promise<JobId | undefined> {
  const rows = await session.query<JobId>(sql`
    with open as (
      select tenant, id, token_id, created_at, not_before, ${isHeld} as is_held from exports e
      where state in ('queued', 'running')
    ), counted as (
      select tenant, id, token_id, created_at, is_held, not_before,
        count(*) filter (where is_held) over (partition by tenant) as running,
        count(*) filter (where is_held) over (partition by token_id) as of_maker
      from open
    ), turns as (
      select token_id, max(taken_at) as last_turn from exports
      where token_id in (select token_id from open) group by token_id
    )
    select tenant, id from counted join turns using (token_id)
    where not is_held and running < ${perTenant} and (not_before is null or not_before <= now())
    order by running, of_maker, last_turn nulls first, created_at, id limit 1`);
  return rows[0];
}

/** Gives the job to this runner, unless it has ended. Parts that are done stay done. */
export async function takeJob(
  db: Queryable,
  { tenant, id, runner }: Held,
): Promise<StoredJob | undefined> {
  const rows = await db.query<StoredJob>(sql`
    with done as (
      select coalesce(sum(rows), 0)::bigint as rows, coalesce(sum(size_bytes), 0)::bigint as bytes
      from export_parts where tenant = ${tenant} and export_id = ${id} and rows is not null
    )
    update exports set state = 'running', runner = ${runner}, attempts = attempts + 1,
      started_at = coalesce(started_at, now()), taken_at = now(), not_before = null,
      rows_done = done.rows, rows_before = done.rows, size_bytes = done.bytes
    from done where tenant = ${tenant} and id = ${id} and state in ('queued', 'running')
    returning ${jobColumns}`);
  return rows[0];
}

/** Whether the job still belongs to this runner. It is locked, so that this stays true until the transaction ends. */
export async function lockHeld(db: Queryable, { tenant, id, runner }: Held): Promise<boolean> {
  const rows = await db.query(sql`
    select id from exports
    where tenant = ${tenant} and id = ${id} and runner = ${runner} and state = 'running' for update`);
  return rows.length === 1;
}

/** Whether the job still belongs to this runner. Unlike `lockHeld` it waits for nothing. */
export async function isStillHeld(db: Queryable, { tenant, id, runner }: Held): Promise<boolean> {
  const rows = await db.query(sql`
    select id from exports
    where tenant = ${tenant} and id = ${id} and runner = ${runner} and state = 'running'`);
  return rows.length === 1;
}

/** Stores the progress. Returns false when the job does not belong to this runner any more. */
export async function updateProgress(
  db: Queryable,
  { tenant, id, runner }: Held,
  { rows, bytes }: { rows: number; bytes: number },
): Promise<boolean> {
  const updated = await db.query(sql`
    update exports set rows_done = ${rows}, size_bytes = ${bytes}
    where tenant = ${tenant} and id = ${id} and runner = ${runner} and state = 'running' returning id`);
  return updated.length === 1;
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

/**
 * A part of a job's file. What may be null is null until the part is done, apart from `object_key`, which is set when
 * it begins. `layout` stays null for formats that need none.
 */
export type PartRow = {
  readonly number: number;
  readonly first_store: string;
  readonly first_day: string;
  readonly last_store: string;
  readonly last_day: string;
  readonly min_day: string;
  readonly max_day: string;
  readonly object_key: string | null;
  readonly rows: number | null;
  readonly digest: string | null;
  readonly size_bytes: number | null;
  readonly sha256: Buffer | null;
  readonly body_bytes: number | null;
  readonly layout: unknown;
};

export async function listParts(db: Queryable, { tenant, id }: JobId): Promise<PartRow[]> {
  return db.query<PartRow>(sql`
    select number, first_store, first_day::text as first_day, last_store, last_day::text as last_day,
      min_day::text as min_day, max_day::text as max_day, object_key, rows, digest::text as digest,
      size_bytes, sha256, body_bytes, layout
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

/** A part whose object is durable and was read back. */
export type DoneRow = {
  readonly number: number;
  readonly objectKey: string;
  readonly rows: number;
  /** The digest as decimal text. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly bodyBytes: number;
  readonly layout: unknown;
};

/** An object that the file is read from. */
export type PartObject = {
  readonly object_key: string;
  readonly size_bytes: number;
  readonly sha256: Buffer;
};

/** Lists the objects of the parts that are done, in the order of the file. */
export async function listObjects(db: Queryable, { tenant, id }: JobId): Promise<PartObject[]> {
  return db.query<PartObject>(sql`
    select object_key, size_bytes, sha256 from export_parts
    where tenant = ${tenant} and export_id = ${id} and rows is not null order by number`);
}

/** Stores that a part is done, and sets the count of failures back to 0. */
export async function finishPart(
  db: Queryable,
  { tenant, id }: JobId,
  part: DoneRow,
): Promise<void> {
  const layout = part.layout === null ? null : JSON.stringify(part.layout);
  await db.query(sql`
    with done as (
      update export_parts set rows = ${part.rows}, digest = ${part.digest}::numeric,
        size_bytes = ${part.sizeBytes}, sha256 = ${part.sha256}, body_bytes = ${part.bodyBytes},
        layout = ${layout}::json
      where tenant = ${tenant} and export_id = ${id} and number = ${part.number}
      returning tenant, export_id
    )
    update exports set failures = 0, waiting_since = null from done
    where exports.tenant = done.tenant and exports.id = done.export_id
      and (failures > 0 or waiting_since is not null)`);
}

/** Completes the job. Returns false when it does not belong to this runner any more. */
export async function completeJob(
  db: Queryable,
  held: Held,
  file: {
    sha256: Buffer;
    sizeBytes: number;
    rows: number;
    ends: FileEnds;
    manifest: unknown;
    days: number;
  },
): Promise<boolean> {
  const rows = await db.query(sql`
    update exports set state = 'completed', sha256 = ${file.sha256}, size_bytes = ${file.sizeBytes},
      rows_done = ${file.rows}, ends = ${JSON.stringify(file.ends)}::json,
      manifest = ${JSON.stringify(file.manifest)}::json, finished_at = now(),
      expires_at = now() + make_interval(days => ${file.days}::int), error_code = null, error = null
    where tenant = ${held.tenant} and id = ${held.id} and runner = ${held.runner} and state = 'running'
    returning id`);
  return rows.length === 1;
}

export async function failJob(
  db: Queryable,
  held: Held,
  fault: { code: string; text: string },
): Promise<void> {
  await db.query(sql`
    update exports set state = 'failed', finished_at = now(), expires_at = now(),
      error_code = ${fault.code}, error = ${fault.text}
    where tenant = ${held.tenant} and id = ${held.id} and runner = ${held.runner} and state = 'running'`);
}

/** How many attempts in a row have failed before they finished a part, and how long the job waits for its store. */
export async function findFailures(
  db: Queryable,
  { tenant, id }: JobId,
): Promise<{ failures: number; waited: number }> {
  const rows = await db.query<{ failures: number; waited: number }>(sql`
    select failures, coalesce(extract(epoch from now() - waiting_since), 0)::float8 as waited
    from exports where tenant = ${tenant} and id = ${id}`);
  return rows[0] ?? { failures: 0, waited: 0 };
}

/**
 * Leaves the job to a later attempt, in whatever process, after `fault.seconds`. That a job waits for its store counts as
 * no failure.
 */
export async function postponeJob(
  db: Queryable,
  held: Held,
  fault: { code: string; text: string; seconds: number; isWaiting: boolean },
): Promise<void> {
  await db.query(sql`
    update exports set state = 'queued', runner = null,
      failures = failures + case when ${fault.isWaiting} then 0 else 1 end,
      waiting_since = case when ${fault.isWaiting} then coalesce(waiting_since, now()) end,
      not_before = now() + make_interval(secs => ${fault.seconds}), error_code = ${fault.code},
      error = ${fault.text}
    where tenant = ${held.tenant} and id = ${held.id} and runner = ${held.runner} and state = 'running'`);
}

/** Leaves the job to the next process that looks for one. It does not count as a failure. */
export async function releaseJob(db: Queryable, held: Held): Promise<void> {
  await db.query(sql`
    update exports set state = 'queued', runner = null
    where tenant = ${held.tenant} and id = ${held.id} and runner = ${held.runner} and state = 'running'`);
}

/**
 * Lists jobs whose objects are of no use any more (cancelled, failed, expired) and that nobody works on; none while a
 * backup holds objects.
 */
export async function listSweepable(db: Queryable, limit: number): Promise<JobId[]> {
  return db.query<JobId>(sql`
    select e.tenant, e.id from exports e
    where e.files_removed_at is null and e.expires_at <= now() and not ${isHeld}
      and not ${areObjectsHeld}
    order by e.expires_at limit ${limit}`);
}

/** Stores that a job has no objects any more. */
export async function markRemoved(db: Queryable, { tenant, id }: JobId): Promise<void> {
  await db.query(sql`
    update exports set files_removed_at = now()
    where tenant = ${tenant} and id = ${id} and files_removed_at is null and expires_at <= now()`);
}

/** Deletes jobs older than 90 days that have no objects any more. */
export async function pruneJobs(db: Queryable): Promise<void> {
  await db.query(sql`
    with old as (
      delete from exports
      where created_at < now() - interval '90 days' and files_removed_at is not null
      returning tenant, id
    )
    delete from export_parts p using old where p.tenant = old.tenant and p.export_id = old.id`);
}

/** Lists the jobs that may hold records which are gone now: those that are queued or running, or have a file. */
export async function listWithRecords(
  db: Queryable,
  tenant: string,
): Promise<(JobId & { slice: PinnedJobSlice })[]> {
  return db.query<JobId & { slice: PinnedJobSlice }>(sql`
    select tenant, id, slice from exports
    where tenant = ${tenant} and files_removed_at is null
      and (state in ('queued', 'running') or state = 'completed' and expires_at > now())
    order by id`);
}

/** Fails the jobs that are queued or running, and ends the files of the others. Returns how many files. */
export async function endJobs(
  db: Queryable,
  {
    tenant,
    ids,
    text,
    fileText,
  }: { tenant: string; ids: readonly string[]; text: string; fileText: string },
): Promise<number> {
  const rows = await db.query<{ files: number }>(sql`
    with failed as (
      -- A job may have begun after this transaction did.
      update exports set state = 'failed', finished_at = clock_timestamp(), expires_at = now(),
        error_code = 'slice_erased', error = ${text}
      where tenant = ${tenant} and id = any(${[...ids]}::text[]) and state in ('queued', 'running')
    ), erased as (
      update exports set state = 'erased', expires_at = now(), error_code = 'slice_erased', error = ${fileText}
      where tenant = ${tenant} and id = any(${[...ids]}::text[]) and state = 'completed' and expires_at > now()
      returning id
    )
    select count(*) as files from erased`);
  return rows[0]?.files ?? 0;
}
