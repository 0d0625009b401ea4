import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { laneOf } from '../lanes.ts';
import type { DeadLetterStatus, DeliveryStatus, FailureClass } from '../values.ts';

/** A change of how many rows of the dead-letter queue there are. */
export type CountDelta = {
  readonly endpointId: string;
  readonly tenant: string;
  readonly status: DeadLetterStatus;
  readonly failureClass: FailureClass;
  readonly delta: number;
};

/**
 * Counts rows into and out of the dead-letter queue. Call it in the transaction that moves them, once and
 * last: counters are locked in the order of their keys and after the rows, so that two transactions
 * wait for each other one way only.
 */
export async function shiftCounts(db: Queryable, deltas: readonly CountDelta[]): Promise<void> {
  if (deltas.length === 0) return;
  await db.query(sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    select endpoint_id, status, failure_class, min(tenant), sum(delta)
    from unnest(${deltas.map((row) => row.endpointId)}::text[], ${deltas.map((row) => row.status)}::text[],
      ${deltas.map((row) => row.failureClass)}::text[], ${deltas.map((row) => row.tenant)}::text[],
      ${deltas.map((row) => row.delta)}::bigint[])
      as change(endpoint_id, status, failure_class, tenant, delta)
    group by endpoint_id, status, failure_class having sum(delta) <> 0
    order by ${countKey} ${addToCount}`);
}

const countKey = raw('endpoint_id collate "C", status collate "C", failure_class collate "C"');
const addToCount = sql`
  on conflict (endpoint_id, status, failure_class)
  do update set count = dead_letter_counts.count + excluded.count`;

/**
 * Counts the rows of a CTE, with the status they had before, out of the dead-letter queue. It aggregates, so
 * all rows are changed and locked before the first counter is.
 */
function countOut(rows: string): Sql {
  return sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    select endpoint_id, status, failure_class, min(tenant), -count(*) from ${raw(rows)}
    where status in ('pending', 'abandoned') group by endpoint_id, status, failure_class
    order by ${countKey} ${addToCount}`;
}

// The lease goes too: the outcome of an attempt under way finds it gone and changes nothing.
const discarded = sql`status = 'discarded', version = d.version + 1, next_attempt_at = null, held_by = null,
  is_probe = false, lease = null, leased_until = null, finished_at = now()`;

/** Discards up to `limit` rows of an endpoint that are neither delivered nor discarded; says how many. */
export async function discardOfEndpoint(
  db: Queryable,
  endpointId: string,
  limit: number,
): Promise<number> {
  return discardLive(db, endpointId, { limit, hasParked: true });
}

/** The same for those that are queued or pending. */
export async function discardBacklog(
  db: Queryable,
  endpointId: string,
  limit: number,
): Promise<number> {
  return discardLive(db, endpointId, { limit, hasParked: false });
}

async function discardLive(
  db: Queryable,
  endpointId: string,
  { limit, hasParked }: { limit: number; hasParked: boolean },
): Promise<number> {
  const lane = laneOf(endpointId);
  // Two look-ups, each along its index: of rows with a due time, and of parked ones.
  const rows = await db.query<{ count: number }>(sql`
    with due as (
      select lane, id, endpoint_id, tenant, status, failure_class from deliveries
      where lane = ${lane} and endpoint_id = ${endpointId} and next_attempt_at is not null
      order by next_attempt_at limit ${known(limit)} for update
    ), parked as (
      select lane, id, endpoint_id, tenant, status, failure_class from deliveries
      where ${hasParked}::boolean and endpoint_id = ${endpointId} and status = 'abandoned' and lane = ${lane}
      order by last_attempt_at, id limit ${limit} - (select count(*) from due) for update
    ), live as (
      select * from due union all select * from parked limit ${known(limit)}
    ), gone as (
      update deliveries d set ${discarded} from live where d.lane = live.lane and d.id = live.id
      returning live.endpoint_id, live.tenant, live.status, live.failure_class
    ), counted as (${countOut('gone')})
    select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

/** A limit that the planner can see: one that it cannot it takes for a tenth of the table, and reads all. */
function known(limit: number): Sql {
  return raw(String(Math.trunc(limit)));
}

/** Whether an endpoint has rows that are neither delivered nor discarded. */
export async function hasLiveRows(db: Queryable, endpointId: string): Promise<boolean> {
  const rows = await db.query<{ has_live: boolean }>(sql`
    select exists (
      select from deliveries where lane = ${laneOf(endpointId)} and endpoint_id = ${endpointId}
        and next_attempt_at is not null
    ) or exists (
      select from deliveries where endpoint_id = ${endpointId} and status = 'abandoned'
    ) as has_live`);
  return rows[0]?.has_live ?? false;
}

/** Disabled endpoints for which something has been due for more than so many days. */
export async function findOverdueEndpoints(db: Queryable, days: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from webhook_endpoints e
    where not enabled and deleted_at is null and disabled_at < now() - make_interval(days => ${days})
      and exists (
        select from deliveries d where d.lane = e.lane and d.endpoint_id = e.id
          and d.next_attempt_at < now() - make_interval(days => ${days})
      )
    order by id`);
  return rows.map((row) => row.id);
}

/**
 * Abandons up to `limit` deliveries of an endpoint that were due more than so many days ago; answers what
 * they were. `attempts` are all that they get before an operator retries them.
 */
export async function abandonOverdue(
  db: Queryable,
  endpointId: string,
  { days, limit }: { days: number; limit: number },
): Promise<{ tenant: string; status: DeliveryStatus; failure_class: FailureClass | null }[]> {
  return db.query(sql`
    with was as (
      select lane, id, tenant, status, failure_class from deliveries
      where lane = ${laneOf(endpointId)} and endpoint_id = ${endpointId}
        and next_attempt_at < now() - make_interval(days => ${days})
        and (leased_until is null or leased_until < now())
      order by next_attempt_at limit ${known(limit)} for update skip locked
    )
    update deliveries d set status = 'abandoned', version = d.version + 1, next_attempt_at = null,
      held_by = null, is_probe = false, lease = null, leased_until = null, max_attempts = d.attempts,
      failure_class = 'endpoint_disabled', last_attempt_at = now(), finished_at = now(),
      error = ${`Its endpoint was disabled, and it waited for more than ${days} days`}
    from was where d.lane = was.lane and d.id = was.id
    returning was.tenant, was.status, was.failure_class`);
}

/** Locks an endpoint; undefined when somebody else has it. */
export async function tryLockEndpoint(
  db: Queryable,
  endpointId: string,
): Promise<{ is_disabled: boolean } | undefined> {
  const rows = await db.query<{ is_disabled: boolean }>(sql`
    select not enabled and deleted_at is null as is_disabled from webhook_endpoints
    where id = ${endpointId} for update skip locked`);
  return rows[0];
}

/** Enables an endpoint and closes its breaker. */
export async function enableEndpoint(db: Queryable, endpointId: string): Promise<void> {
  await db.query(sql`
    update webhook_endpoints set enabled = true, disabled_reason = null, disabled_at = null,
      disabled_by = null, failures_in_row = 0, pauses_in_row = 0, paused_until = null, updated_at = now()
    where id = ${endpointId}`);
}

/**
 * Whoever enables, disables or deletes an endpoint decides anew on its backlog. A batch under way is waited
 * for. Call it in the transaction that has changed the endpoint.
 */
export async function cancelBacklogJobs(
  db: Queryable,
  endpointIds: readonly string[],
): Promise<void> {
  if (endpointIds.length === 0) return;
  await db.query(sql`
    update dead_letter_jobs set state = 'cancelled', updated_at = now(), finished_at = now()
    where endpoint_id = any(${endpointIds}::text[]) and action = 'discard_backlog' and state = 'running'`);
}

/** What decides whether a delivery can be re-armed or discarded. */
export type DeliveryState = {
  status: DeliveryStatus;
  version: number;
  attempts: number;
  tenant: string;
  endpoint_id: string;
  is_in_flight: boolean;
  is_endpoint_open: boolean;
  endpoint_max_attempts: number | null;
};

export async function findState(
  db: Queryable,
  lane: number,
  id: string,
): Promise<DeliveryState | undefined> {
  const rows = await db.query<DeliveryState>(sql`
    select d.status, d.version, d.attempts, d.tenant, d.endpoint_id,
      coalesce(d.leased_until > now(), false) as is_in_flight,
      coalesce(e.enabled and e.deleted_at is null, false) as is_endpoint_open,
      e.max_attempts as endpoint_max_attempts
    from deliveries d left join webhook_endpoints e on e.id = d.endpoint_id
    where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

/** Re-arms a row, if it still is what was read; says whether it did. It passes an open breaker. */
export async function rearm(
  db: Queryable,
  row: { lane: number; id: string; version: number; budget: number },
): Promise<boolean> {
  const rows = await db.query(sql`
    with was as (
      select lane, id, endpoint_id, tenant, status, failure_class from deliveries
      where lane = ${row.lane} and id = ${row.id} and version = ${row.version}
        and status in ('pending', 'abandoned') and coalesce(leased_until <= now(), true)
      for update
    ), armed as (
      update deliveries d set ${armed(sql`${row.budget}::int`)}, is_probe = true
      from was where d.lane = was.lane and d.id = was.id
      returning was.endpoint_id, was.tenant, was.status, was.failure_class
    ), counted as (${countOut('armed')})
    select status from armed`);
  return rows.length === 1;
}

// An expired lease goes too: its holder may come back late.
const armed = (
  budget: Sql,
) => sql`status = 'queued', version = d.version + 1, next_attempt_at = now(),
  held_by = null, schedule_from = d.attempts, max_attempts = d.attempts + ${budget}, lease = null,
  leased_until = null, finished_at = null`;

/** What a bulk re-arm needs of an endpoint. */
export type OpenEndpoint = {
  /** The attempts that it gives a delivery. */
  budget: number;
  /** It is paused, and nothing of it has been tried since, nor is about to be. */
  needs_probe: boolean;
};

/** Endpoints whose deliveries may be re-armed: those that are disabled or deleted are left out. */
export async function findOpenEndpoints(
  db: Queryable,
  endpointIds: readonly string[],
  options: { defaultBudget: number; since: string },
): Promise<Map<string, OpenEndpoint>> {
  const rows = await db.query<OpenEndpoint & { id: string }>(sql`
    select id, coalesce(max_attempts, ${options.defaultBudget}::int) as budget,
      paused_until is not null and not exists (
        select from deliveries d where d.lane = e.lane and d.endpoint_id = e.id
          and d.is_probe and d.next_attempt_at is not null
      ) and not exists (
        select from deliveries d where d.endpoint_id = e.id and d.status in ('pending', 'abandoned')
          and d.last_attempt_at > ${options.since}::timestamptz
      ) as needs_probe
    from webhook_endpoints e
    where id = any(${endpointIds}::text[]) and enabled and deleted_at is null`);
  return new Map(rows.map(({ id, ...endpoint }) => [id, endpoint]));
}

/**
 * Re-arms those of these rows that can be; says of which endpoints, how many. Only probes pass a breaker.
 * Budgets come in: a join with the endpoints took half of the statement's time, because the planner
 * expects a single row here and walks through all endpoints for each.
 */
export async function rearmAll(
  db: Queryable,
  rows: readonly { lane: number; id: string; budget: number; isProbe: boolean }[],
  failedUntil: string,
): Promise<{ endpoint_id: string; count: number }[]> {
  return db.query<{ endpoint_id: string; count: number }>(sql`
    with was as (
      select d.lane, d.id, d.endpoint_id, d.tenant, d.status, d.failure_class, picked.budget,
        picked.is_probe
      from unnest(${rows.map((row) => row.lane)}::smallint[], ${rows.map((row) => row.id)}::text[],
        ${rows.map((row) => row.budget)}::int[], ${rows.map((row) => row.isProbe)}::boolean[])
        as picked (lane, id, budget, is_probe)
      join deliveries d on d.lane = picked.lane and d.id = picked.id
      where d.status in ('pending', 'abandoned') and d.last_attempt_at <= ${failedUntil}::timestamptz
        and coalesce(d.leased_until <= now(), true)
      for update of d skip locked
    ), armed as (
      update deliveries d set ${armed(sql`was.budget`)}, is_probe = was.is_probe
      from was where d.lane = was.lane and d.id = was.id
      returning was.endpoint_id, was.tenant, was.status, was.failure_class
    ), counted as (${countOut('armed')})
    select endpoint_id, count(*) as count from armed group by endpoint_id`);
}

/** Discards a row; answers what it was, or undefined when it is delivered or discarded already. */
export async function discard(
  db: Queryable,
  lane: number,
  id: string,
): Promise<{ status: DeliveryStatus; attempts: number } | undefined> {
  const rows = await db.query<{ status: DeliveryStatus; attempts: number }>(sql`
    with was as (
      select lane, id, endpoint_id, tenant, status, failure_class from deliveries
      where lane = ${lane} and id = ${id} and status in ('queued', 'pending', 'abandoned')
      for update
    ), gone as (
      update deliveries d set ${discarded} from was where d.lane = was.lane and d.id = was.id
      returning was.endpoint_id, was.tenant, was.status, was.failure_class, d.attempts
    ), counted as (${countOut('gone')})
    select status, attempts from gone`);
  return rows[0];
}
