import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import {
  type JobState,
  type JobTable,
  listedOf,
  shownColumns,
} from '../../platform/jobs/queries.ts';
import type { StateRow } from '../../platform/metrics/figures.ts';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { MoveRow, RunRow } from '../contract.ts';
import { calledOffCodes, type MoveKind, type MoveState } from '../values.ts';

/** A run and the tenants that it is limited to; null means all. */
export type StoredRun = RunRow & JobState;

export const runs: JobTable = {
  name: 'retention_runs',
  list: 'retention.runs',
  columns: sql`j.before, j.delete_versioned, j.total_count, j.moved_count, j.moved_bytes, j.deleted_count,
    j.kept_count, j.failed_moves, j.busy_tenants, j.freed_bytes`,
  done: sql`j.moved_count + j.deleted_count`,
  missing: {
    code: 'retention_run_not_found',
    detail: 'There is no run of this id, or no longer. GET /retention/runs lists them.',
  },
  isNeeded: sql`j.id in (select run_id from moves where run_id is not null)`,
};

/** Where the list of all jobs finds runs. */
export const listedRuns = listedOf(runs, {
  total: raw('j.total_count'),
  told: sql`json_build_object('is_limited', j.tenants is not null, 'moved', j.moved_count,
    'deleted', j.deleted_count, 'failed_moves', j.failed_moves)`,
});

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
): Promise<RunRow> {
  const rows = await db.query<RunRow>(sql`
    insert into retention_runs as j (id, tenant, tenants, before, delete_versioned, requested_by)
    values (${run.id}, ${run.tenant}, ${run.tenants}, ${run.before}::date, ${run.deleteVersioned},
      ${run.requestedBy})
    returning ${shownColumns(runs)}`);
  return onlyRow(rows);
}

/** The minute of the schedule queued last, in ms since 1970; before the first, when the database was made. */
export async function findLastScheduled(db: Queryable): Promise<number> {
  const rows = await db.query<{ last: number }>(sql`
    select (extract(epoch from coalesce((select max(scheduled_for) from retention_runs),
      (select min(applied_at) from schema_migrations))) * 1000)::float8 as last`);
  return rows[0]?.last ?? 0;
}

/** Queues the run of a minute of the schedule, unless another process has done so. Returns whether it did. */
export async function insertScheduledRun(
  db: Queryable,
  run: { id: string; scheduledFor: string },
): Promise<boolean> {
  const rows = await db.query(sql`
    insert into retention_runs (id, scheduled_for) values (${run.id}, ${run.scheduledFor}::timestamptz)
    on conflict (scheduled_for) do nothing returning id`);
  return rows.length === 1;
}

/** Notes what a run will do, when it first begins; its counts of failed moves and busy tenants begin anew. */
export async function notePlan(
  connection: Queryable,
  id: string,
  { total, kept }: { total: number; kept: number },
): Promise<void> {
  await connection.query(sql`
    update retention_runs set failed_moves = 0, busy_tenants = 0, total_count = coalesce(total_count, ${total}),
      kept_count = case when total_count is null then ${kept} else kept_count end
    where id = ${id}`);
}

/** What the work on a tenant adds to its run. */
export type RunProgress = {
  movedCount: number;
  movedBytes: number;
  deletedCount: number;
  failedMoves: number;
  busyTenants: number;
  /** Why something failed; null when nothing did. The run fails in its end, with the first that was stored. */
  failure: string | null;
};

export async function addProgress(db: Queryable, id: string, done: RunProgress): Promise<void> {
  await db.query(sql`
    update retention_runs set moved_count = moved_count + ${done.movedCount},
      moved_bytes = moved_bytes + ${done.movedBytes},
      deleted_count = deleted_count + ${done.deletedCount},
      failed_moves = failed_moves + ${done.failedMoves},
      busy_tenants = busy_tenants + ${done.busyTenants},
      error = coalesce(error, ${done.failure})
    where id = ${id} and state = 'running'`);
}

/** Notes how much space a run has given back. */
export async function noteFreed(db: Queryable, id: string, freedBytes: number): Promise<void> {
  await db.query(sql`
    update retention_runs set freed_bytes = ${freedBytes} where id = ${id} and state = 'running'`);
}

/** Filters that no index serves in the order of the journal. */
type MoveFilter = {
  kind?: MoveKind | undefined;
  state?: MoveState | undefined;
  /** One of whose days it moves, as `2001-03`. */
  month?: string | undefined;
  runId?: string | undefined;
};

/** The place of a move in the journal. */
export type MoveKey = readonly [plannedAt: string, id: string];

/** One of the triples of a move, as an object; null until all of it is known. */
const tripleOf = (of: 'source' | 'object' | 'gone') =>
  raw(`case when num_nulls(m.${of}_count, m.${of}_bytes, m.${of}_digest) = 0 then json_build_object(
    'count', m.${of}_count, 'bytes', m.${of}_bytes, 'digest', m.${of}_digest::text) end as ${of}`);

/** The columns of a move with the digests as decimal text, from moves under the name m. */
const moveColumns = sql`m.id, m.tenant, m.run_id, m.kind, m.state, m.first_day, m.last_day, ${tripleOf('source')},
  ${tripleOf('object')}, ${tripleOf('gone')}, m.stored_bytes, coalesce(objects.segments_in, 0) as segments_in,
  coalesce(objects.segments_out, 0) as segments_out,
  ${instantText('m.planned_at')} as planned_at, ${instantText('m.copied_at')} as copied_at,
  ${instantText('m.verified_at')} as verified_at, ${instantText('m.switched_at')} as switched_at,
  ${instantText('m.removed_at')} as removed_at, ${instantText('m.failed_at')} as failed_at,
  m.failed_in, m.error_code, m.error`;

/** Reads these moves as they are shown. Their objects are counted first: so each worker of a cluster counts its own. */
function withObjects(moves: Sql): Sql {
  return sql`
    with page as materialized (${moves}), objects as materialized (
      select s.tenant, s.move_id, count(*) filter (where s.role = 'in') as segments_in,
        count(*) filter (where s.role = 'out') as segments_out
      from page join move_segments s on s.tenant = page.tenant and s.move_id = page.id
      group by s.tenant, s.move_id
    )
    select ${moveColumns} from page m
    left join objects on objects.tenant = m.tenant and objects.move_id = m.id
    order by m.planned_at desc, m.id desc`;
}

/**
 * Lists the latest moves after `after`. Filters see the first `scanLimit`, so that a rare state reads no whole journal.
 */
export async function listMoves(
  db: Queryable,
  filter: MoveFilter & { tenants: readonly string[] | null },
  page: { after: MoveKey | null; limit: number; scanLimit: number },
): Promise<MoveRow[]> {
  return db.query<MoveRow>(
    withObjects(sql`
      select * from (${scan(filter.tenants, page)}) m ${where(conditions(filter))}
      order by m.planned_at desc, m.id desc limit ${raw(String(page.limit))}`),
  );
}

/** Finds the last of the moves that a page looked at; undefined at the end of the journal. */
export async function findScanEnd(
  db: Queryable,
  tenants: readonly string[] | null,
  page: { after: MoveKey | null; scanLimit: number },
): Promise<MoveKey | undefined> {
  const rows = await db.query<{ planned_at: string; id: string }>(sql`
    select ${instantText('m.planned_at')} as planned_at, m.id from (${scan(tenants, page)}) m
    order by m.planned_at desc, m.id desc offset ${page.scanLimit - 1} limit 1`);
  return rows[0] && [rows[0].planned_at, rows[0].id];
}

/** The moves that a page looks at, tenant by tenant: with `tenant = any(…)` PostgreSQL would read and sort all. */
function scan(
  tenants: readonly string[] | null,
  { after, scanLimit }: { after: MoveKey | null; scanLimit: number },
): Sql {
  const [plannedAt, id] = after ?? [];
  const isBefore =
    after === null ? sql`true` : sql`(m.planned_at, m.id) < (${plannedAt}::timestamptz, ${id})`;
  const latest = sql`order by m.planned_at desc, m.id desc limit ${raw(String(scanLimit))}`;
  if (tenants === null) return sql`select * from moves m where ${isBefore} ${latest}`;
  const each = tenants.map(
    (tenant) => sql`(select * from moves m where m.tenant = ${tenant} and ${isBefore} ${latest})`,
  );
  return sql`select m.* from (${join(each, ' union all ')}) m ${latest}`;
}

function conditions({ kind, state, month, runId }: MoveFilter): Sql[] {
  const all: Sql[] = [];
  if (kind !== undefined) all.push(sql`m.kind = ${kind}`);
  if (state !== undefined) all.push(sql`m.state = ${state}`);
  if (month !== undefined) {
    const first = sql`${`${month}-01`}::date`;
    all.push(sql`m.first_day < ${first} + interval '1 month' and m.last_day >= ${first}`);
  }
  if (runId !== undefined) all.push(sql`m.run_id = ${runId}`);
  return all;
}

function where(all: readonly Sql[]): Sql {
  return all.length === 0 ? empty : sql`where ${join([...all], ' and ')}`;
}

export async function findMove(
  db: Queryable,
  id: string,
  tenants: readonly string[] | null,
): Promise<MoveRow | undefined> {
  const rows = await db.query<MoveRow>(
    withObjects(sql`
      select * from moves m
      where m.id = ${id} and (${tenants}::text[] is null or m.tenant = any(${tenants}::text[]))`),
  );
  return rows[0];
}

/**
 * Counts the tenants whose latest move failed, so that their data stays where it is until somebody looks into it. A
 * move that was called off is no failure. `storeFull` counts the
 * tenants whose latest move was stopped by a full store.
 */
export async function countFailedTenants(
  db: Queryable,
): Promise<{ failed: number; storeFull: number }> {
  const rows = await db.query<{ failed: number; storeFull: number }>(sql`
    select count(*) filter (where latest.state = 'failed' and coalesce(latest.error_code, '')
        <> all (${calledOffCodes}::text[])) as failed,
      count(*) filter (where latest.error_code = 'store_full') as "storeFull"
    from leaf_tenants t cross join lateral (
      select m.state, m.error_code from moves m where m.tenant = t.tenant
      order by m.planned_at desc, m.id desc limit 1
    ) latest`);
  return rows[0] ?? { failed: 0, storeFull: 0 };
}

/** Counts the moves that have not ended, for the metrics. An index has only these. */
export async function countOpenMoves(db: Queryable): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    select state, count(*) as count, extract(epoch from now() - min(planned_at))::float8 as age_seconds
    from moves where state <> all (array['removed', 'failed']) group by state`);
}

/** Deletes moves that ended long ago, up to `limit`. Returns how many. See `pruneHistory` for those that stay. */
export async function deleteOldMoves(
  db: Queryable,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with old as materialized (
      select m.tenant, m.id from moves m
      where m.planned_at < now() - make_interval(days => ${days}) and m.state in ('removed', 'failed')
        and (m.kind <> 'erase' or m.id not in (select id from erasures))
        and coalesce(m.removed_at, m.failed_at) < now() - make_interval(days => ${days})
        and not exists (
          select 1 from object_removals r where r.tenant = m.tenant and r.move_id = m.id)
        and exists (
          select 1 from moves later where later.tenant = m.tenant
            and (later.planned_at, later.id) > (m.planned_at, m.id))
      order by m.planned_at, m.id limit ${limit}
    ), segments as (
      delete from move_segments s using old where s.tenant = old.tenant and s.move_id = old.id
    ), days as (
      delete from move_days d using old where d.tenant = old.tenant and d.move_id = old.id
    ), gone as (
      delete from moves m using old where m.tenant = old.tenant and m.id = old.id returning m.id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}
