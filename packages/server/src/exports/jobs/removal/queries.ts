import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { JobId, PinnedJobSlice } from '../job.ts';
import { isHeld } from '../runner/queries.ts';

/** Jobs whose objects are of no use any more: cancelled, failed, expired, and nobody works on them. */
export async function listSweepable(db: Queryable, limit: number): Promise<JobId[]> {
  return db.query<JobId>(sql`
    select e.tenant, e.id from exports e
    where e.files_removed_at is null and e.expires_at <= now() and not ${isHeld}
    order by e.expires_at limit ${limit}`);
}

export async function markRemoved(db: Queryable, { tenant, id }: JobId): Promise<void> {
  await db.query(sql`
    update exports set files_removed_at = now()
    where tenant = ${tenant} and id = ${id} and files_removed_at is null and expires_at <= now()`);
}

/** Forgets jobs of more than 90 days that have left nothing behind. */
export async function pruneJobs(db: Queryable): Promise<void> {
  await db.query(sql`
    with old as (
      delete from exports
      where created_at < now() - interval '90 days' and files_removed_at is not null
      returning tenant, id
    )
    delete from export_parts p using old where p.tenant = old.tenant and p.export_id = old.id`);
}

/** What may hold records that are gone: queued, running, or with a file. */
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

/** Fails those that are queued or running, and ends the files of the others; says how many files. */
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
      update exports set state = 'failed', finished_at = now(), expires_at = now(),
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
