import sql, { raw, type Sql } from 'sql-template-tag';
import type { ErrorCode } from '../../kernel/errors.ts';
import type { StateRow } from '../metrics/figures.ts';
import { onlyRow, type Queryable, type Row } from '../postgres/database.ts';
import { hasFreeShare, heldLocks } from '../postgres/shares.ts';
import { instantText } from '../postgres/sql-text.ts';
import { findJobRow, type JobSource, type ListedTable, listJobRows } from './listed-queries.ts';

/** Where the jobs of a kind are stored. In all statements the table is called `j`. */
export type JobTable = {
  readonly name: 'retention_runs' | 'verifications';
  /** The name of its list, to which cursors are bound. */
  readonly list: string;
  /** The columns that only this kind has. */
  readonly columns: Sql;
  /** How much of a job is done, for the metrics. */
  readonly done: Sql;
  /** What is thrown for a job that is unknown or out of reach. */
  readonly missing: { readonly code: ErrorCode; readonly detail: string };
  /** Says of a job that ended long ago that it is still needed. */
  readonly isNeeded?: Sql;
};

/** What all kinds of jobs tell of themselves. */
export type JobState = {
  readonly id: string;
  readonly tenant: string | null;
  /** The tenants that whoever asked may touch; null means all. */
  readonly tenants: string[] | null;
  /** Whether it is cut into shares. */
  readonly is_divided: boolean;
};

/** A job that waits for its store is stored as running. */
const isWaiting = sql`j.state = 'running' and j.waiting_since is not null`;
const shownState = sql`case when ${isWaiting} then 'waiting' else j.state end`;
const sharedColumns = sql`j.id, ${shownState} as state,
  case when ${isWaiting} then ${instantText('j.waiting_since')} end as waiting_since,
  case when ${isWaiting} then j.waiting_for end as waiting_for, j.tenant, j.requested_by,
  ${instantText('j.requested_at')} as requested_at, ${instantText('j.started_at')} as started_at,
  ${instantText('j.finished_at')} as finished_at,
  case when j.state in ('completed', 'failed') then j.error end as error`;

/** The columns that callers see of a job. */
export function shownColumns({ columns }: JobTable): Sql {
  return sql`${sharedColumns}, ${columns}`;
}

/** Selects the jobs that concern no tenant out of reach: they name one in it, or are limited to such. */
export function isInReach(reach: readonly string[] | null): Sql {
  if (reach === null) return sql`true`;
  return sql`(j.tenant = any(${reach}::text[]) or j.tenants <@ ${reach}::text[])`;
}

/** Where the list of all jobs finds those of this table. There are few enough of them to be sorted. */
export function listedOf(
  { name, done }: JobTable,
  own: Pick<ListedTable, 'total' | 'told'>,
): ListedTable {
  return {
    ...sourceOf(name),
    state: shownState,
    done,
    ...own,
    startedAt: 'started_at',
    finishedAt: 'finished_at',
    requestedBy: raw('j.requested_by'),
    error: sql`case when ${isWaiting} then j.waiting_for else j.error end`,
  };
}

const sourceOf = (name: string): JobSource => ({ name, requestedAt: 'requested_at', isInReach });

/** Lists jobs, the latest first. There are few enough to sort them, because old ones are deleted. */
export async function listJobs<Shown extends Row>(
  db: Queryable,
  table: JobTable,
  reach: readonly string[] | null,
  page: { after: readonly string[] | null; limit: number },
): Promise<Shown[]> {
  return listJobRows<Shown>(db, sourceOf(table.name), shownColumns(table), { reach }, page);
}

/** Finds a job; undefined when it is unknown or out of reach. */
export async function findJob<Shown extends Row>(
  db: Queryable,
  table: JobTable,
  of: { id: string; reach: readonly string[] | null },
): Promise<Shown | undefined> {
  return findJobRow<Shown>(db, sourceOf(table.name), shownColumns(table), of);
}

/** Counts the jobs that have not ended, and what is done of them, for the metrics. */
export async function countOpenJobs(
  db: Queryable,
  { name, done }: JobTable,
): Promise<(StateRow & { done: number })[]> {
  return db.query(sql`
    select j.state, count(*) as count, sum(${done})::bigint as done,
      extract(epoch from now() - min(coalesce(j.started_at, j.requested_at)))::float8 as age_seconds
    from ${raw(name)} j where j.state in ('queued', 'running') group by j.state`);
}

/** Deletes jobs that ended more than `days` days ago, up to `limit`. The last one stays. Returns how many. */
export async function deleteOldJobs(
  db: Queryable,
  { name, isNeeded = sql`false` }: JobTable,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from ${raw(name)} where id in (
        select j.id from ${raw(name)} j
        where j.state in ('completed', 'failed') and j.finished_at < now() - make_interval(days => ${days})
          and not ${isNeeded}
          and exists (select from ${raw(name)} later where later.requested_at > j.requested_at)
        order by j.requested_at limit ${limit})
      returning id
    ) select count(*) as count from gone`);
  return onlyRow(rows).count;
}

/** The job that processes are at work on, or else the next one: of each kind one is done at a time. */
function currentOf({ name }: JobTable): Sql {
  return sql`
    select id from ${raw(name)} where state in ('queued', 'running')
    order by state = 'running' desc, requested_at, id limit 1`;
}

/** Whether a job waits for somebody to begin it, to do a share of it that nobody has, or to end it. */
export async function hasFreeJob(db: Queryable, table: JobTable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    with ${heldLocks}
    select not j.is_divided or ${hasFreeShare(sql`j.id`)} as has_free
    from ${raw(table.name)} j where j.id = (${currentOf(table)})`);
  return rows[0]?.has_free ?? false;
}

/** Takes the next job, locked until the transaction ends, so that one process divides it; undefined: none. */
export async function takeJob<Job extends JobState>(
  connection: Queryable,
  table: JobTable,
): Promise<Job | undefined> {
  const rows = await connection.query<Job>(sql`
    update ${raw(table.name)} j set state = 'running', started_at = coalesce(j.started_at, clock_timestamp()),
      waiting_since = null
    where j.id = (${currentOf(table)} for update)
    returning ${shownColumns(table)}, j.tenants, j.is_divided`);
  return rows[0];
}

/** Notes that a job is cut into shares. */
export async function noteDivided(db: Queryable, { name }: JobTable, id: string): Promise<void> {
  await db.query(sql`update ${raw(name)} set is_divided = true where id = ${id}`);
}

/** Notes why a job waits, and for how long it has; null when it goes on. */
export async function noteWaiting(
  db: Queryable,
  { name }: JobTable,
  id: string,
  waiting: { reason: string; seconds: number } | null,
): Promise<void> {
  const { reason = null, seconds = null } = waiting ?? {};
  await db.query(sql`
    update ${raw(name)} set waiting_for = ${reason},
      waiting_since = case when ${reason}::text is not null
        then coalesce(waiting_since, now() - make_interval(secs => ${seconds}::float8)) end
    where id = ${id}`);
}

/** Whether a job has begun and not ended. */
export async function isRunning(db: Queryable, { name }: JobTable, id: string): Promise<boolean> {
  const rows = await db.query(
    sql`select id from ${raw(name)} where id = ${id} and state = 'running'`,
  );
  return rows.length > 0;
}

/** Notes why something failed in a job. The job fails in its end, with the first that was noted. */
export async function noteFailure(
  db: Queryable,
  { name }: JobTable,
  id: string,
  error: string,
): Promise<void> {
  await db.query(sql`
    update ${raw(name)} set error = coalesce(error, ${error}) where id = ${id} and state = 'running'`);
}

/** Ends a job. It has failed if something failed in it. */
export async function finishJob(db: Queryable, { name }: JobTable, id: string): Promise<void> {
  await db.query(sql`
    update ${raw(name)} set state = case when error is null then 'completed' else 'failed' end,
      finished_at = clock_timestamp()
    where id = ${id} and state = 'running'`);
}
