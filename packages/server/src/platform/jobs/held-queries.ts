import sql, { raw, type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable, type Row, type Session } from '../postgres/database.ts';
import { type AdvisoryLock, advisoryLocks, isHeldLock } from '../postgres/locks.ts';

/** Where the jobs of a kind are stored, in the columns that all such tables have. In its statements it is called `j`. */
export type HeldTable = {
  readonly name: 'exports';
  /** What the work on a job knows of it. */
  readonly columns: Sql;
  /** Selects how many `rows` and `bytes` of a job are done. */
  readonly doneOf: (job: Omit<Held, 'runner'>) => Sql;
  /** Is held for each job by the session of whoever works on it. */
  readonly lock: Extract<AdvisoryLock, 'exportJobs'>;
  /** Lets one process at a time take a job, so that it sees all jobs that are held. */
  readonly takingLock: Extract<AdvisoryLock, 'exportJobTaking'>;
};

/** A job as the process that works on it knows it. */
export type Held = { readonly tenant: string; readonly id: string; readonly runner: string };

/** Whether any session holds the lock of the job `j`. The locks are read once for the whole statement. */
export function isLocked(lock: AdvisoryLock): Sql {
  return sql`(hashtext(j.id)::bigint & 4294967295)::oid in (
    select objid from pg_locks where ${isHeldLock(lock)})`;
}

/**
 * Whether a job may be worked on now. One that the previous release cannot do has `infinity` as its `not_before`, all its
 * life, so that a process of that release does not take it; how long it pauses stands in `due_at`.
 */
const isDue = sql`
  coalesce(case when not_before = 'infinity' then due_at else not_before end, now()) <= now()`;

/** Whether there is a job, queued or left behind, that may be worked on and is not. */
export async function hasFreeJob(db: Queryable, { name, lock }: HeldTable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    select exists (
      select from ${raw(name)} j where state in ('queued', 'running')
        and ${isDue} and not ${isLocked(lock)}
    ) as has_free`);
  return onlyRow(rows).has_free;
}

/**
 * Lets only this session take a job, and finds the one whose turn it is: of the tenant that runs the fewest, and there of
 * whoever runs the fewest, and had the last turn the longest ago, the oldest job. Tenants that already run as many as
 * they may are left out.
 */
export async function findNextJob(
  session: Session,
  { name, lock, takingLock }: HeldTable,
  perTenant: number,
): Promise<Omit<Held, 'runner'> | undefined> {
  await session.query(sql`select pg_advisory_lock(${advisoryLocks[takingLock]}, 0)`);
  const rows = await session.query<Omit<Held, 'runner'>>(sql`
    with open as (
      select tenant, id, token_id, created_at, ${isDue} as is_due, ${isLocked(lock)} as is_held from ${raw(name)} j
      where state in ('queued', 'running')
    ), counted as (
      select tenant, id, token_id, created_at, is_held, is_due,
        count(*) filter (where is_held) over (partition by tenant) as running,
        count(*) filter (where is_held) over (partition by token_id) as of_maker
      from open
    )
    select tenant, id from counted where not is_held and running < ${perTenant} and is_due
    order by running, of_maker, (
      select max(taken_at) from ${raw(name)} turn where turn.token_id = counted.token_id
    ) nulls first, created_at, id limit 1`);
  return rows[0];
}

/** Gives the job to this runner, unless it has ended, and lets others take jobs. */
export async function takeJob<Job extends Row>(
  session: Session,
  { name, columns, doneOf, takingLock }: HeldTable,
  { tenant, id, runner }: Held,
): Promise<Job | undefined> {
  const rows = await session.query<Job>(sql`
    with done as (${doneOf({ tenant, id })})
    update ${raw(name)} set state = 'running', runner = ${runner}, attempts = attempts + 1,
      started_at = coalesce(started_at, now()), taken_at = now(),
      not_before = case when not_before = 'infinity' then not_before end, due_at = null,
      rows_done = done.rows, rows_before = done.rows, size_bytes = done.bytes
    from done where tenant = ${tenant} and id = ${id} and state in ('queued', 'running')
    returning ${columns}`);
  await session.query(sql`select pg_advisory_unlock(${advisoryLocks[takingLock]}, 0)`);
  return rows[0];
}

function isOf({ tenant, id, runner }: Held): Sql {
  return sql`tenant = ${tenant} and id = ${id} and runner = ${runner} and state = 'running'`;
}

/** Whether the job still belongs to this runner. With `forUpdate` that stays true until the transaction ends. */
export async function isStillHeld(
  db: Queryable,
  { name }: HeldTable,
  held: Held,
  { forUpdate = false } = {},
): Promise<boolean> {
  const locking = raw(forUpdate ? 'for update' : '');
  const rows = await db.query(sql`select id from ${raw(name)} where ${isOf(held)} ${locking}`);
  return rows.length === 1;
}

/** Stores the progress. Returns false when the job does not belong to this runner any more. */
export async function updateProgress(
  db: Queryable,
  { name }: HeldTable,
  held: Held,
  { rows, bytes }: { rows: number; bytes: number },
): Promise<boolean> {
  const updated = await db.query(sql`
    update ${raw(name)} set rows_done = ${rows}, size_bytes = ${bytes} where ${isOf(held)} returning id`);
  return updated.length === 1;
}

export async function failJob(
  db: Queryable,
  { name }: HeldTable,
  held: Held,
  fault: { code: string; text: string },
): Promise<void> {
  await db.query(sql`
    update ${raw(name)} set state = 'failed', finished_at = now(), expires_at = now(),
      error_code = ${fault.code}, error = ${fault.text} where ${isOf(held)}`);
}

/** How many attempts in a row have failed before they got anything done, and how long the job waits for its store. */
export async function findFailures(
  db: Queryable,
  { name }: HeldTable,
  { tenant, id }: Held,
): Promise<{ failures: number; waited: number }> {
  const rows = await db.query<{ failures: number; waited: number }>(sql`
    select failures, coalesce(extract(epoch from now() - waiting_since), 0)::float8 as waited
    from ${raw(name)} where tenant = ${tenant} and id = ${id}`);
  return rows[0] ?? { failures: 0, waited: 0 };
}

/** Leaves the job to a later attempt of any process. That a job waits for its store counts as no failure. */
export async function postponeJob(
  db: Queryable,
  { name }: HeldTable,
  held: Held,
  fault: { code: string; text: string; seconds: number; isWaiting: boolean },
): Promise<void> {
  const then = sql`now() + make_interval(secs => ${fault.seconds})`;
  await db.query(sql`
    update ${raw(name)} set state = 'queued', runner = null,
      failures = failures + case when ${fault.isWaiting} then 0 else 1 end,
      waiting_since = case when ${fault.isWaiting} then coalesce(waiting_since, now()) end,
      not_before = case when not_before = 'infinity' then not_before else ${then} end, due_at = ${then},
      error_code = ${fault.code}, error = ${fault.text} where ${isOf(held)}`);
}

/** Leaves the job to the next process that looks for one. It does not count as a failure. */
export async function releaseJob(db: Queryable, { name }: HeldTable, held: Held): Promise<void> {
  await db.query(sql`update ${raw(name)} set state = 'queued', runner = null where ${isOf(held)}`);
}
