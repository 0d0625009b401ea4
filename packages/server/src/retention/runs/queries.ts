import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { StateRow } from '../../platform/metrics/figures.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { hasFreeShare, heldLocks } from '../../platform/postgres/shares.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { RunRow } from '../contract.ts';
import type { MoveKind, MoveState } from '../values.ts';

/** A run and the tenants that it is limited to; null means all. */
export type StoredRun = RunRow & { tenants: string[] | null };

/** A run that waits for its store is stored as running, as the previous release knows it. */
const isWaiting = sql`state = 'running' and waiting_since is not null`;
const shownState = sql`case when ${isWaiting} then 'waiting' else state end as state,
  case when ${isWaiting} then ${instantText('waiting_since')} end as waiting_since,
  case when ${isWaiting} then waiting_for end as waiting_for`;

const runColumns = sql`retention_runs.id, ${shownState}, tenant, before, delete_versioned,
  requested_by,
  ${instantText('retention_runs.requested_at')} as requested_at,
  ${instantText('retention_runs.started_at')} as started_at,
  ${instantText('retention_runs.finished_at')} as finished_at,
  total_count, moved_count, moved_bytes, deleted_count, kept_count, failed_moves, busy_tenants, freed_bytes,
  case when state in ('completed', 'failed') then error end as error`;

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
    returning ${runColumns}`);
  return rows[0];
}

/**
 * The minute of the schedule for which a run was queued last, in milliseconds since 1970. Before the first one it is when
 * the database was made, since which runs may have been missed.
 */
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

/**
 * Lists the runs that concern no tenant out of reach, the latest first. There are few enough to sort them, because old
 * ones are pruned.
 */
export async function listRuns(
  db: Queryable,
  reach: readonly string[] | null,
  page: { after: readonly string[] | null; limit: number },
): Promise<RunRow[]> {
  const [requestedAt, id] = page.after ?? [null, null];
  return db.query<RunRow>(sql`
    select ${runColumns} from retention_runs
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
    sql`select ${runColumns} from retention_runs where id = ${id} and ${inReach(reach)}`,
  );
  return rows[0];
}

/** A run is in reach if it names a tenant in reach, or is limited to such tenants. */
const inReach = (reach: readonly string[] | null) => sql`(${reach}::text[] is null
  or tenant = any(${reach}::text[]) or tenant is null and tenants <@ ${reach}::text[])`;

/** The run that processes are at work on, or else the next one: one run is done at a time. */
const currentRun = sql`
  select id from retention_runs where state in ('queued', 'running')
  order by state = 'running' desc, requested_at, id limit 1`;

/** Whether a run waits for somebody to begin it, to do a share of it that nobody has, or to end it. */
export async function hasFreeRun(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    with ${heldLocks}
    select not is_divided or ${hasFreeShare(sql`run.id`)} as has_free
    from retention_runs run where id = (${currentRun})`);
  return rows[0]?.has_free ?? false;
}

/**
 * Takes the run to work on; undefined when there is none. It is locked until the end of the transaction, so that one
 * process divides it and the others wait. When it is divided anew, so are its counts of failed moves and busy tenants.
 */
export async function takeRun(
  connection: Queryable,
): Promise<(StoredRun & { is_divided: boolean }) | undefined> {
  const rows = await connection.query<StoredRun & { is_divided: boolean }>(sql`
    update retention_runs set state = 'running', started_at = coalesce(started_at, now()),
      failed_moves = case when is_divided then failed_moves else 0 end,
      busy_tenants = case when is_divided then busy_tenants else 0 end, waiting_since = null
    where id = (${currentRun} for update)
    returning ${runColumns}, tenants, is_divided`);
  return rows[0];
}

/**
 * Notes that a run is cut into shares. The total is stored when it first begins: a run of the release before, which had
 * no shares, is divided when it is taken up again, and finds less to do.
 */
export async function noteDivided(
  connection: Queryable,
  id: string,
  { total, kept }: { total: number; kept: number },
): Promise<void> {
  await connection.query(sql`
    update retention_runs set is_divided = true, total_count = coalesce(total_count, ${total}),
      kept_count = case when total_count is null then ${kept} else kept_count end
    where id = ${id}`);
}

/** Notes why a run waits, and for how long it has; null when it goes on. */
export async function noteWaiting(
  db: Queryable,
  id: string,
  waiting: { reason: string; seconds: number } | null,
): Promise<void> {
  const { reason = null, seconds = null } = waiting ?? {};
  await db.query(sql`
    update retention_runs set waiting_for = ${reason},
      waiting_since = case when ${reason}::text is not null
        then coalesce(waiting_since, now() - make_interval(secs => ${seconds}::float8)) end
    where id = ${id}`);
}

/** Whether a run has not ended. */
export async function isOpenRun(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query(
    sql`select id from retention_runs where id = ${id} and state = 'running'`,
  );
  return rows.length > 0;
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

/** Ends a run. It has failed if something failed in it. */
export async function finishRun(db: Queryable, id: string, freedBytes: number): Promise<void> {
  await db.query(sql`
    update retention_runs set state = case when error is null then 'completed' else 'failed' end,
      freed_bytes = ${freedBytes}, finished_at = now()
    where id = ${id} and state = 'running'`);
}

/** A move of the journal, as the database returns it. Digests are decimal text. */
export type JournalRow = {
  id: string;
  tenant: string;
  run_id: string | null;
  kind: MoveKind;
  state: MoveState;
  first_day: string;
  last_day: string;
  source_count: number | null;
  source_bytes: number | null;
  source_digest: string | null;
  object_count: number | null;
  object_bytes: number | null;
  object_digest: string | null;
  gone_count: number;
  gone_bytes: number;
  gone_digest: string;
  stored_bytes: number | null;
  segments_in: number;
  segments_out: number;
  planned_at: string;
  copied_at: string | null;
  verified_at: string | null;
  switched_at: string | null;
  removed_at: string | null;
  failed_at: string | null;
  failed_in: MoveState | null;
  error_code: string | null;
  error: string | null;
};

/** Filters that no index serves in the order of the journal. */
export type MoveFilter = {
  kind?: MoveKind | undefined;
  state?: MoveState | undefined;
  runId?: string | undefined;
};

/** The place of a move in the journal. */
export type MoveKey = readonly [plannedAt: string, id: string];

/** The columns of `JournalRow`, from moves under the name m. */
const moveColumns = sql`m.id, m.tenant, m.run_id, m.kind, m.state, m.first_day, m.last_day,
  m.source_count, m.source_bytes, m.source_digest, m.object_count, m.object_bytes, m.object_digest,
  m.gone_count, m.gone_bytes, m.gone_digest, m.stored_bytes, coalesce(objects.segments_in, 0) as segments_in,
  coalesce(objects.segments_out, 0) as segments_out,
  ${instantText('m.planned_at')} as planned_at, ${instantText('m.copied_at')} as copied_at,
  ${instantText('m.verified_at')} as verified_at, ${instantText('m.switched_at')} as switched_at,
  ${instantText('m.removed_at')} as removed_at, ${instantText('m.failed_at')} as failed_at,
  m.failed_in, m.error_code, m.error`;

/** Makes the rows of `JournalRow` of these moves. Their objects are counted first: so each worker of a cluster counts its own. */
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
 * Lists the latest moves, beginning after `after`. Filters are applied only to the first `scanLimit` of these, so that
 * a rare state does not read the whole journal.
 */
export async function listMoves(
  db: Queryable,
  filter: MoveFilter & { tenants: readonly string[] | null },
  page: { after: MoveKey | null; limit: number; scanLimit: number },
): Promise<JournalRow[]> {
  return db.query<JournalRow>(
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

/**
 * The moves that a page looks at. Each tenant is read along its index, no further than the page needs. With `tenant =
 * any(…)` PostgreSQL would read and sort all moves of these tenants.
 */
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

function conditions({ kind, state, runId }: MoveFilter): Sql[] {
  const all: Sql[] = [];
  if (kind !== undefined) all.push(sql`m.kind = ${kind}`);
  if (state !== undefined) all.push(sql`m.state = ${state}`);
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
): Promise<JournalRow | undefined> {
  const rows = await db.query<JournalRow>(
    withObjects(sql`
      select * from moves m
      where m.id = ${id} and (${tenants}::text[] is null or m.tenant = any(${tenants}::text[]))`),
  );
  return rows[0];
}

/**
 * Counts the tenants whose latest move failed, so that their data stays where it is until somebody looks into it. A
 * move that was called off by a hold, a longer policy or a dataset version is no failure. `storeFull` counts the
 * tenants whose latest move was stopped by a full store.
 */
export async function countFailedTenants(
  db: Queryable,
): Promise<{ failed: number; storeFull: number }> {
  const rows = await db.query<{ failed: number; storeFull: number }>(sql`
    select count(*) filter (where latest.state = 'failed' and coalesce(latest.error_code, '') not in
        ('tenant_on_hold', 'not_due', 'kept_by_version')) as failed,
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

/** Counts the runs that have not ended, and the records that are done in them, for the metrics. */
export async function countOpenRuns(db: Queryable): Promise<(StateRow & { done: number })[]> {
  return db.query(sql`
    select state, count(*) as count, sum(moved_count + deleted_count)::bigint as done,
      extract(epoch from now() - min(coalesce(started_at, requested_at)))::float8 as age_seconds
    from retention_runs where state in ('queued', 'running') group by state`);
}

type Batch = { days: number; limit: number };

/** Deletes moves that ended long ago, up to `limit`. Returns how many. See `pruneHistory` for those that stay. */
export async function deleteOldMoves(db: Queryable, { days, limit }: Batch): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with old as materialized (
      select m.tenant, m.id from moves m
      where m.planned_at < now() - make_interval(days => ${days}) and m.state in ('removed', 'failed')
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

export async function deleteOldRuns(db: Queryable, { days, limit }: Batch): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from retention_runs where id in (
        select id from retention_runs run
        where state in ('completed', 'failed') and finished_at < now() - make_interval(days => ${days})
          and id not in (select run_id from moves where run_id is not null)
          and exists (
            select from retention_runs later where later.requested_at > run.requested_at)
        order by requested_at limit ${limit})
      returning id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

export async function deleteOldVerifications(
  db: Queryable,
  { days, limit }: Batch,
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from verifications where id in (
        select id from verifications v
        where state in ('completed', 'failed') and finished_at < now() - make_interval(days => ${days})
          and exists (select from verifications later where later.requested_at > v.requested_at)
        order by requested_at limit ${limit})
      returning id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}
