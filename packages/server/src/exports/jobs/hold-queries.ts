import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable, Session } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import type { Held, JobId, StoredJob } from './job.ts';
import { isWorkedOn, jobColumns } from './queries.ts';

/**
 * Whether a job may be worked on now. One that the previous release cannot do has `infinity` as its `not_before`, all its
 * life, so that a process of that release does not take it; how long it pauses stands in `due_at`.
 */
const isDue = sql`
  coalesce(case when not_before = 'infinity' then due_at else not_before end, now()) <= now()`;

/**
 * Finds the job whose turn it is: of the tenant that runs the fewest, and there of whoever runs the fewest, and had the
 * last turn the longest ago, the oldest job. Tenants that already run as many as they may are left out.
 */
export async function findNextJob(db: Queryable, perTenant: number): Promise<JobId | undefined> {
  const rows = await db.query<JobId>(
    sql`
    with open as (
      select tenant, id, token_id, created_at, ${isDue} as is_due, ${isWorkedOn} as is_held from exports j
      where state in ('queued', 'running')
    ), counted as (
      select tenant, id, token_id, created_at, is_held, is_due,
        count(*) filter (where is_held) over (partition by tenant) as running,
        count(*) filter (where is_held) over (partition by token_id) as of_maker
      from open
    )
    select tenant, id from counted where not is_held and running < ${perTenant} and is_due
    order by running, of_maker, (
      select max(taken_at) from exports turn where turn.token_id = counted.token_id
    ) nulls first, created_at, id limit 1`,
    // A plan from when there were few jobs goes through all of them for each job that waits.
    { isPlannedAnew: true },
  );
  return rows[0];
}

/** Lets only this session take a job, so that it sees all jobs that are held. */
export async function beginTaking(session: Session): Promise<void> {
  await session.query(sql`select pg_advisory_lock(${advisoryLocks.exportJobTaking}, 0)`);
}

/** Gives the job to this runner, unless it has ended, and lets others take jobs. */
export async function takeJob(
  session: Session,
  { tenant, id, runner }: Held,
): Promise<StoredJob | undefined> {
  const rows = await session.query<StoredJob>(sql`
    with done as (
      select coalesce(sum(rows), 0)::bigint as rows, coalesce(sum(size_bytes), 0)::bigint as bytes
      from export_parts where tenant = ${tenant} and export_id = ${id} and rows is not null
    )
    update exports set state = 'running', runner = ${runner}, attempts = attempts + 1,
      started_at = coalesce(started_at, now()), taken_at = now(),
      not_before = case when not_before = 'infinity' then not_before end, due_at = null,
      rows_done = done.rows, rows_before = done.rows, size_bytes = done.bytes
    from done where tenant = ${tenant} and id = ${id} and state in ('queued', 'running')
    returning ${jobColumns}`);
  await session.query(sql`select pg_advisory_unlock(${advisoryLocks.exportJobTaking}, 0)`);
  return rows[0];
}

function isOf({ tenant, id, runner }: Held): Sql {
  return sql`tenant = ${tenant} and id = ${id} and runner = ${runner} and state = 'running'`;
}

/** Whether the job still belongs to this runner. With `forUpdate` that stays true until the transaction ends. */
export async function isStillHeld(
  db: Queryable,
  held: Held,
  { forUpdate = false } = {},
): Promise<boolean> {
  const locking = raw(forUpdate ? 'for update' : '');
  const rows = await db.query(sql`select id from exports where ${isOf(held)} ${locking}`);
  return rows.length === 1;
}

/** Stores the progress. Returns false when the job does not belong to this runner any more. */
export async function updateProgress(
  db: Queryable,
  held: Held,
  { rows, bytes }: { rows: number; bytes: number },
): Promise<boolean> {
  const updated = await db.query(sql`
    update exports set rows_done = ${rows}, size_bytes = ${bytes} where ${isOf(held)} returning id`);
  return updated.length === 1;
}

export async function failJob(
  db: Queryable,
  held: Held,
  fault: { code: string; text: string },
): Promise<void> {
  await db.query(sql`
    update exports set state = 'failed', finished_at = now(), expires_at = now(),
      error_code = ${fault.code}, error = ${fault.text} where ${isOf(held)}`);
}

/** How many attempts in a row have failed before they got anything done, and how long the job waits for its store. */
export async function findFailures(
  db: Queryable,
  { tenant, id }: Held,
): Promise<{ failures: number; waited: number }> {
  const rows = await db.query<{ failures: number; waited: number }>(sql`
    select failures, coalesce(extract(epoch from now() - waiting_since), 0)::float8 as waited
    from exports where tenant = ${tenant} and id = ${id}`);
  return rows[0] ?? { failures: 0, waited: 0 };
}

/** Leaves the job to a later attempt of any process. That a job waits for its store counts as no failure. */
export async function postponeJob(
  db: Queryable,
  held: Held,
  fault: { code: string; text: string; seconds: number; isWaiting: boolean },
): Promise<void> {
  const then = sql`now() + make_interval(secs => ${fault.seconds})`;
  await db.query(sql`
    update exports set state = 'queued', runner = null,
      failures = failures + case when ${fault.isWaiting} then 0 else 1 end,
      waiting_since = case when ${fault.isWaiting} then coalesce(waiting_since, now()) end,
      not_before = case when not_before = 'infinity' then not_before else ${then} end, due_at = ${then},
      error_code = ${fault.code}, error = ${fault.text} where ${isOf(held)}`);
}

/** Leaves the job to the next process that looks for one. It does not count as a failure. */
export async function releaseJob(db: Queryable, held: Held): Promise<void> {
  await db.query(sql`update exports set state = 'queued', runner = null where ${isOf(held)}`);
}
