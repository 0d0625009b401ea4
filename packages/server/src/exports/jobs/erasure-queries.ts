import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { Named } from '../../records/index.ts';
import type { JobId, PinnedJobSlice } from './job.ts';

/** A job, and the first and the last day of its parts if a schedule began it: these tell what it holds. */
export type JobDays = {
  readonly slice: PinnedJobSlice;
  readonly first_day: string | null;
  readonly last_day: string | null;
};

/** The columns of `JobDays`, and what they are read from. */
const jobDays = {
  columns: sql`slice, cut.first_day::text as first_day, cut.last_day::text as last_day`,
  from: sql`exports e left join lateral (
      select min(min_day) as first_day, max(max_day) as last_day from export_parts p
      where e.schedule_id is not null and p.tenant = e.tenant and p.export_id = e.id
    ) cut on true`,
};

/** Lists the jobs whose files were fetched, the latest first: when last, and by whom. */
export async function listFetched(
  db: Queryable,
  tenant: string,
): Promise<(JobDays & Named & { at: string; by: string[] })[]> {
  return db.query(sql`
    with fetched as (
      select target, max(at) as at, array_agg(distinct token_name order by token_name) as by
      from audit_log where action = 'export.download' and tenant = ${tenant} group by target
    )
    select e.id, file_name as name, ${jobDays.columns}, ${instantText('fetched.at')} as at, by
    from ${jobDays.from} join fetched on fetched.target = e.id
    where e.tenant = ${tenant} order by fetched.at desc, e.id`);
}

/** Lists jobs that may hold records which are gone: open ones, and those with a file. Cut runs tell their days. */
export async function listWithRecords(db: Queryable, tenant: string): Promise<(JobId & JobDays)[]> {
  return db.query(sql`
    select tenant, id, ${jobDays.columns} from ${jobDays.from}
    where tenant = ${tenant} and files_removed_at is null
      and (state in ('queued', 'running') or state = 'completed' and expires_at > now())
      and not (state = 'completed' and schedule_id is not null and rows_total = 0)
    order by id`);
}

/** What is said of an export that somebody asked for, and of a run of a schedule. */
type JobText = { readonly job: string; readonly run: string };

/**
 * Fails the jobs that are queued or running, and ends the files of the others. Returns whose files. These are two
 * statements, because a job may complete while the first waits for its row: only what begins later sees its file.
 */
export async function endJobs(
  connection: Connection,
  {
    tenant,
    ids,
    text,
    fileText,
  }: { tenant: string; ids: readonly string[]; text: JobText; fileText: JobText },
): Promise<Named[]> {
  const isOne = sql`tenant = ${tenant} and id = any(${[...ids]}::text[])`;
  const told = ({ job, run }: JobText) =>
    sql`case when schedule_id is null then ${job} else ${run} end`;
  // A job may have begun after this transaction did.
  await connection.query(sql`
    update exports set state = 'failed', finished_at = clock_timestamp(), expires_at = now(),
      error_code = 'slice_erased', error = ${told(text)} where ${isOne} and state in ('queued', 'running')`);
  return connection.query<Named>(sql`
    update exports set state = 'erased', expires_at = now(), error_code = 'slice_erased', error = ${told(fileText)}
    where ${isOne} and state = 'completed' and expires_at > now()
    returning id, file_name as name`);
}
