import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/instant-sql.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import type { RunRow } from '../contract.ts';

/** A run and the tenants that it is limited to; null = all. */
export type StoredRun = RunRow & { tenants: string[] | null };

const columns = sql`retention_runs.id, state, tenant, before, delete_versioned,
  requested_by,
  ${instantText('retention_runs.requested_at')} as requested_at,
  ${instantText('retention_runs.started_at')} as started_at,
  ${instantText('retention_runs.finished_at')} as finished_at,
  total_count, moved_count, moved_bytes, deleted_count, kept_count, failed_moves, busy_tenants, freed_bytes, error`;

export async function insertRun(
  db: Queryable,
  run: {
    id: string;
    tenant: string | null;
    tenants: readonly string[] | null;
    before: string | null;
    deleteVersioned: boolean;
    requestedBy: string;
  },
): Promise<RunRow | undefined> {
  const rows = await db.query<RunRow>(sql`
    insert into retention_runs (id, tenant, tenants, before, delete_versioned, requested_by)
    values (${run.id}, ${run.tenant}, ${run.tenants}, ${run.before}::date, ${run.deleteVersioned},
      ${run.requestedBy})
    returning ${columns}`);
  return rows[0];
}

/** The run of the schedule's minute, unless another process has made it; says whether it was made. */
export async function insertScheduledRun(
  db: Queryable,
  run: { id: string; scheduledFor: string },
): Promise<boolean> {
  const rows = await db.query(sql`
    insert into retention_runs (id, scheduled_for) values (${run.id}, ${run.scheduledFor}::timestamptz)
    on conflict (scheduled_for) do nothing returning id`);
  return rows.length === 1;
}

/**
 * Runs that concern no other tenant than those in reach, the latest first. There are few enough to be
 * sorted: old ones are pruned.
 */
export async function listRuns(
  db: Queryable,
  reach: readonly string[] | null,
  page: { after: readonly string[] | null; limit: number },
): Promise<RunRow[]> {
  const [requestedAt, id] = page.after ?? [null, null];
  return db.query<RunRow>(sql`
    select ${columns} from retention_runs
    where ${inReach(reach)}
      and (${id}::text is null or (retention_runs.requested_at, id) < (${requestedAt}::timestamptz, ${id}))
    order by retention_runs.requested_at desc, id desc limit ${page.limit}`);
}

export async function findRun(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<RunRow | undefined> {
  const rows = await db.query<RunRow>(
    sql`select ${columns} from retention_runs where id = ${id} and ${inReach(reach)}`,
  );
  return rows[0];
}

const inReach = (reach: readonly string[] | null) => sql`(${reach}::text[] is null
  or tenant = any(${reach}::text[]) or tenant is null and tenants <@ ${reach}::text[])`;

/** Whether a run waits, or was left behind by a process that ended, while nobody does runs. */
export async function hasFreeRun(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    select exists (select from retention_runs where state in ('queued', 'running'))
      and not exists (
        select from pg_locks where ${isHeldLock('retentionRuns')}
      ) as has_free`);
  return rows[0]?.has_free ?? false;
}

/** Whether the lock was free and is this session's now. */
export async function lockRuns(session: Queryable): Promise<boolean> {
  const rows = await session.query<{ is_locked: boolean }>(
    sql`select pg_try_advisory_lock(${advisoryLocks.retentionRuns}) as is_locked`,
  );
  return rows[0]?.is_locked ?? false;
}

/**
 * The run to do now; undefined when there is none. One that was left behind comes first. Its tenants that
 * failed or were busy still have work and are come by again: these counters begin anew.
 */
export async function takeRun(db: Queryable): Promise<StoredRun | undefined> {
  const rows = await db.query<StoredRun>(sql`
    update retention_runs set state = 'running', started_at = coalesce(started_at, now()),
      failed_moves = 0, busy_tenants = 0
    where id = (
      select id from retention_runs where state in ('queued', 'running')
      order by state = 'running' desc, requested_at, id limit 1
    )
    returning ${columns}, tenants`);
  return rows[0];
}

/** Only the first time: what a run that is taken up again finds is less. */
export async function setTotal(
  db: Queryable,
  id: string,
  { total, kept }: { total: number; kept: number },
): Promise<void> {
  await db.query(sql`
    update retention_runs set total_count = ${total}, kept_count = ${kept}
    where id = ${id} and total_count is null`);
}

export type Progress = {
  movedCount: number;
  movedBytes: number;
  deletedCount: number;
  failedMoves: number;
  busyTenants: number;
};

export async function addProgress(db: Queryable, id: string, done: Progress): Promise<void> {
  await db.query(sql`
    update retention_runs set moved_count = moved_count + ${done.movedCount},
      moved_bytes = moved_bytes + ${done.movedBytes},
      deleted_count = deleted_count + ${done.deletedCount},
      failed_moves = failed_moves + ${done.failedMoves},
      busy_tenants = busy_tenants + ${done.busyTenants}
    where id = ${id} and state = 'running'`);
}

export async function finishRun(
  db: Queryable,
  id: string,
  { error, freedBytes }: { error: string | null; freedBytes: number },
): Promise<void> {
  await db.query(sql`
    update retention_runs set state = case when ${error}::text is null then 'completed' else 'failed' end,
      error = ${error}, freed_bytes = ${freedBytes}, finished_at = now()
    where id = ${id} and state = 'running'`);
}
