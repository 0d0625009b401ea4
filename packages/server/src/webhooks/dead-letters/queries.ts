import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import { laneOf } from '../lanes.ts';
import { isBehind, neverDue } from '../order/queries.ts';
import { breakerClosed, countedByHour, isPolled } from '../queries.ts';
import type { DeadLetterStatus, DeliveryStatus, FailureClass } from '../values.ts';

export type CountDelta = {
  readonly endpointId: string;
  readonly tenant: string;
  readonly status: DeadLetterStatus;
  readonly failureClass: FailureClass;
  readonly delta: number;
};

/**
 * Counts rows into and out of the dead-letter queue. Must be called once, and last, in the transaction that moves the
 * rows: counters are locked after rows and in the order of their keys, so no two transactions deadlock.
 */
export async function shiftCounts(db: Queryable, deltas: readonly CountDelta[]): Promise<void> {
  if (deltas.length === 0) return;
  await db.query(sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    select endpoint_id, status, failure_class, min(tenant), sum(delta)
    from ${givenRows('change', deltas, {
      endpointId: 'text',
      status: 'text',
      failureClass: 'text',
      tenant: 'text',
      delta: 'bigint',
    })}
    group by endpoint_id, status, failure_class having sum(delta) <> 0
    order by ${countKey} ${addToCount}`);
}

const countKey = raw('endpoint_id collate "C", status collate "C", failure_class collate "C"');
const addToCount = sql`
  on conflict (endpoint_id, status, failure_class)
  do update set count = dead_letter_counts.count + excluded.count`;

/** Counts the rows of a CTE out of the queue by their former status, after all of them are locked. */
function countOut(rows: string): Sql {
  return sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    select endpoint_id, status, failure_class, min(tenant), -count(*) from ${raw(rows)}
    where status in ('pending', 'abandoned') group by endpoint_id, status, failure_class
    order by ${countKey} ${addToCount}`;
}

/** What discarding changes of the delivery d. An attempt under way finds no lease then, and changes nothing. */
export const discarded = sql`status = 'discarded', version = d.version + 1, next_attempt_at = null, held_by = null,
  is_probe = false, lease = null, leased_until = null, finished_at = now()`;

/**
 * Discards up to `limit` deliveries of an endpoint that are neither delivered nor discarded, or with `until` only those that
 * are queued or pending and were made by then; null means until the transaction began. Returns how many.
 */
export async function discardOfEndpoint(
  db: Queryable,
  endpointId: string,
  limit: number,
  until?: string | null,
): Promise<number> {
  const lane = laneOf(endpointId);
  const hasParked = until === undefined;
  // There are two look-ups, each along its own index: of rows that will be attempted, and of abandoned rows. Locked rows
  // stay in their place, and are changed by it: by their keys they would be looked for in any index, or the whole table,
  // where the planner expects a single row. One that was changed since the statement began is left for the next batch.
  const rows = await db.query<{ count: number }>(sql`
    with due as (
      select ctid as place, endpoint_id, tenant, status, failure_class from deliveries
      where lane = ${lane} and endpoint_id = ${endpointId} and next_attempt_at is not null
        and created_at <= coalesce(${hasParked ? 'infinity' : until}::timestamptz, now())
      order by next_attempt_at limit ${known(limit)} for update
    ), parked as (
      select ctid as place, endpoint_id, tenant, status, failure_class from deliveries
      where ${hasParked}::boolean and endpoint_id = ${endpointId} and status = 'abandoned' and lane = ${lane}
      order by last_attempt_at, id limit ${limit} - (select count(*) from due) for update
    ), live as (
      select * from due union all select * from parked limit ${known(limit)}
    ), gone as (
      update deliveries d set ${discarded} from live where d.ctid = live.place
      returning live.endpoint_id, live.tenant, live.status, live.failure_class
    ), counted as (${countOut('gone')})
    select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

/** A limit that the planner sees. It takes a parameter for a tenth of the table, and then reads all of it. */
function known(limit: number): Sql {
  return raw(String(Math.trunc(limit)));
}

/**
 * Discards up to `limit` deliveries made until `until` (null: until the transaction began) of a disabled endpoint that
 * the transaction has locked, and enables it if these were all.
 */
export async function discardThenEnable(
  db: Queryable,
  endpointId: string,
  { limit, until }: { limit: number; until: string | null },
): Promise<{ discarded: number; isEnabled: boolean }> {
  const discarded = await discardOfEndpoint(db, endpointId, limit, until);
  const isEnabled = discarded < limit;
  if (isEnabled) await enableEndpoint(db, endpointId);
  return { discarded, isEnabled };
}

/** Whether an endpoint has deliveries that are neither delivered nor discarded. */
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

/** How long the deliveries of an endpoint may wait that is disabled, or polled, and what they are abandoned as then. */
export type Patience = {
  readonly seconds: number;
  readonly failureClass: 'endpoint_disabled' | 'expired';
  readonly text: string;
};

/** The patience of the endpoint `e`, as JSON; null where a drainer sends to it. */
export function patienceOf(days: number): Sql {
  const seconds = sql`${days}::int * 86400`;
  const expires = sql`least(${seconds}, (e.delivery ->> 'expires_after_seconds')::int)`;
  return sql`case when e.deleted_at is not null then null
    when not e.enabled then json_build_object('seconds', ${seconds}, 'failureClass', 'endpoint_disabled',
      'text', ${`Its endpoint was disabled, and it waited for more than ${days} days`}::text)
    when ${isPolled} then json_build_object('seconds', ${expires}, 'failureClass', 'expired',
      'text', 'Its receiver did not fetch it within ' || ${expires} || ' s') end`;
}

/** Finds disabled and polled endpoints for which something has waited longer than they allow. */
export async function findOverdueEndpoints(db: Queryable, days: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from webhook_endpoints e
    where enabled and deleted_at is null and ${isPolled} and exists (
        select from deliveries d where d.lane = e.lane and d.endpoint_id = e.id and d.next_attempt_at
          < now() - make_interval(secs => (${patienceOf(days)} ->> 'seconds')::float8))
    union all
    select id from webhook_endpoints e
    where not enabled and deleted_at is null and disabled_at < now() - make_interval(days => ${days})
      and exists (
        select from deliveries d where d.lane = e.lane and d.endpoint_id = e.id
          and d.next_attempt_at < now() - make_interval(days => ${days})
        union all
        select from deliveries d where d.endpoint_id = e.id and ${isBehind('d')} and e.ordered is not null
          and d.created_at < now() - make_interval(days => ${days})
      )
    order by id`);
  return rows.map((row) => row.id);
}

/** Abandons up to `limit` deliveries that have waited so long, and returns what they were before. */
export async function abandonOverdue(
  db: Queryable,
  endpointId: string,
  { seconds, failureClass, text, limit }: Patience & { limit: number },
): Promise<{ tenant: string; status: DeliveryStatus; failure_class: FailureClass | null }[]> {
  return db.query(sql`
    with due as (
      select lane, id, tenant, status, failure_class from deliveries
      where lane = ${laneOf(endpointId)} and endpoint_id = ${endpointId}
        and next_attempt_at < now() - make_interval(secs => ${seconds})
        and (leased_until is null or leased_until < now())
      order by next_attempt_at limit ${known(limit)} for update skip locked
    ), behind as (
      select lane, id, tenant, status, failure_class from deliveries d
      where endpoint_id = ${endpointId} and ${isBehind('d')}
        and created_at < now() - make_interval(secs => ${seconds})
      limit ${known(limit)} for update skip locked
    ), was as (
      select * from due union all select * from behind limit ${known(limit)}
    ), changed as (
    update deliveries d set ${givenUp(failureClass, sql`${text}`)}
    from was where d.lane = was.lane and d.id = was.id
    returning d.lane, d.endpoint_id, d.status, was.tenant, was.status as status_before, was.failure_class
    ), ${countedByHour({ areAttempts: false })}
    select tenant, status_before as status, failure_class from changed`);
}

/** What giving up without an attempt changes of the delivery d: no attempts are left unless somebody retries. */
export const givenUp = (failureClass: FailureClass, error: Sql) => sql`
  status = 'abandoned', version = d.version + 1, next_attempt_at = null, held_by = null, is_probe = false,
  lease = null, leased_until = null, max_attempts = d.attempts, failure_class = ${failureClass},
  last_attempt_at = now(), finished_at = now(), error = ${error}`;

/** Locks an endpoint until the end of the transaction; undefined when another transaction has it locked. */
export async function tryLockEndpoint(
  db: Queryable,
  endpointId: string,
  days = 0,
): Promise<{ is_disabled: boolean; patience: Patience | null } | undefined> {
  const rows = await db.query<{ is_disabled: boolean; patience: Patience | null }>(sql`
    select not enabled and deleted_at is null as is_disabled, ${patienceOf(days)} as patience from webhook_endpoints e
    where id = ${endpointId} for update skip locked`);
  return rows[0];
}

async function enableEndpoint(db: Queryable, endpointId: string): Promise<void> {
  await db.query(sql`
    update webhook_endpoints set enabled = true, disabled_reason = null, disabled_at = null,
      disabled_by = null, ${breakerClosed}, updated_at = now()
    where id = ${endpointId}`);
}

/**
 * Cancels the jobs that discard the backlog of endpoints that the transaction has changed, and waits for a batch under
 * way. Returns how many deliveries each had discarded.
 */
export async function cancelBacklogJobs(
  db: Queryable,
  endpointIds: readonly string[],
): Promise<number[]> {
  if (endpointIds.length === 0) return [];
  const rows = await db.query<{ rows_done: number }>(sql`
    update dead_letter_jobs set state = 'cancelled', updated_at = now(), finished_at = now()
    where endpoint_id = any(${endpointIds}::text[]) and action = 'discard_backlog' and state = 'running'
    returning rows_done`);
  return rows.map((row) => row.rows_done);
}

export type DeliveryState = {
  status: DeliveryStatus;
  /** Grows with each change of the row, so that a change made in between is noticed. */
  version: number;
  attempts: number;
  tenant: string;
  endpoint_id: string;
  incident_id: string;
  failure_class: FailureClass | null;
  is_in_flight: boolean;
  is_endpoint_open: boolean;
  /** The endpoint's own number of attempts; null means the default of the service. */
  endpoint_max_attempts: number | null;
};

export async function findState(
  db: Queryable,
  lane: number,
  id: string,
): Promise<DeliveryState | undefined> {
  const rows = await db.query<DeliveryState>(sql`
    select d.status, d.version, d.attempts, d.tenant, d.endpoint_id, d.incident_id, d.failure_class,
      coalesce(d.leased_until > now(), false) as is_in_flight,
      coalesce(e.enabled and e.deleted_at is null, false) as is_endpoint_open,
      e.max_attempts as endpoint_max_attempts
    from deliveries d left join webhook_endpoints e on e.id = d.endpoint_id
    where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

/**
 * Queues a delivery again if it is still what was read. Returns whether it did. The delivery may pass an open breaker.
 */
export async function rearm(
  db: Queryable,
  row: { lane: number; id: string; version: number; budget: number },
): Promise<boolean> {
  const found = sql`deliveries d where d.lane = ${row.lane} and d.id = ${row.id} and d.version = ${row.version}`;
  const how = { budget: sql`${row.budget}::int`, isProbe: sql`true`, sets: sql`job_id = null` };
  return (await rearmFound(db, found, { ...how, waits: true })).length === 1;
}

/** Whether the delivery `d` may go by itself: it has no order, or is the first of its key. */
const mayGo = sql`(d.order_key is null or d.order_state = 'head')`;

/**
 * Queues deliveries again that can be, and returns how many of which endpoint. `found` are tables, of them `d`, and which
 * rows are meant; what is locked is skipped unless it `waits`. In whose place another went on, it goes in its old place:
 * before all that was accepted later and was not sent yet. A lease that has expired is taken away, too, because its
 * holder may still come back.
 */
export async function rearmFound(
  db: Queryable,
  found: Sql,
  how: { budget: Sql; isProbe: Sql; sets: Sql; dueAt?: Sql; waits?: boolean },
): Promise<{ endpoint_id: string; count: number }[]> {
  const { budget, isProbe, sets, dueAt = sql`now()`, waits = false } = how;
  return db.query(sql`
    with was as (
      select d.lane, d.id, d.endpoint_id, d.tenant, d.status, d.failure_class, ${budget} as budget,
        ${isProbe} as is_probe, ${dueAt} as due_at
      from ${found} and d.status in ('pending', 'abandoned') and d.failure_class is distinct from 'erased'
        and coalesce(d.leased_until <= now(), true)
      for update of d ${raw(waits ? '' : 'skip locked')}
    ), armed as (
      update deliveries d set status = 'queued', version = d.version + 1,
        next_attempt_at = case when ${mayGo} then was.due_at else ${neverDue} end,
        order_state = case when ${mayGo} then d.order_state else 'joins' end, held_by = null,
        schedule_from = d.attempts, max_attempts = d.attempts + was.budget, is_probe = was.is_probe, lease = null,
        leased_until = null, throttled_since = null, finished_at = null, ${sets}
      from was where d.lane = was.lane and d.id = was.id
      returning was.endpoint_id, was.tenant, was.status, was.failure_class
    ), counted as (${countOut('armed')})
    select endpoint_id, count(*) as count from armed group by endpoint_id`);
}

type OpenEndpoint = {
  budget: number;
  /**
   * Whether it is paused, none of its deliveries has been tried since `since`, and no operator's retry waits for it.
   */
  needs_probe: boolean;
};

/**
 * Finds the endpoints whose deliveries may be retried: enabled ones. `since` is the end of the job's range of failures.
 */
export async function findOpenEndpoints(
  db: Queryable,
  endpointIds: readonly string[],
  options: { defaultBudget: number; since: string },
): Promise<Map<string, OpenEndpoint>> {
  // A plan that is kept was made for the queue of another moment, and read all of it for each batch of a bulk retry.
  const rows = await db.query<OpenEndpoint & { id: string }>(
    sql`
    select id, coalesce(max_attempts, ${options.defaultBudget}::int) as budget,
      paused_until is not null and not exists (
        select from deliveries d where d.lane = e.lane and d.endpoint_id = e.id
          and d.is_probe and d.next_attempt_at is not null
      ) and not exists (
        select from deliveries d where d.endpoint_id = e.id and d.status in ('pending', 'abandoned')
          and d.last_attempt_at > ${options.since}::timestamptz
      ) as needs_probe
    from webhook_endpoints e
    where id = any(${endpointIds}::text[]) and enabled and deleted_at is null`,
    { isPlannedAnew: true },
  );
  return new Map(rows.map(({ id, ...endpoint }) => [id, endpoint]));
}

/**
 * Queues those of these rows again that can be. They name the job from then on. Only probes pass an open breaker. The
 * budgets are arguments, because a join with the endpoints took half of the time.
 */
export async function rearmAll(
  db: Queryable,
  rows: readonly { lane: number; id: string; budget: number; isProbe: boolean }[],
  { failedUntil, jobId }: { failedUntil: string; jobId: string },
): Promise<{ endpoint_id: string; count: number }[]> {
  const found = sql`
    ${givenRows('picked', rows, { lane: 'smallint', id: 'text', budget: 'int', isProbe: 'boolean' })}
    join deliveries d on d.lane = picked.lane and d.id = picked.id
    where d.last_attempt_at <= ${failedUntil}::timestamptz`;
  const how = { budget: sql`picked.budget`, isProbe: sql`picked.is_probe` };
  return rearmFound(db, found, { ...how, sets: sql`job_id = ${jobId}` });
}

type Discarded = {
  lane: number;
  id: string;
  endpoint_id: string;
  incident_id: string;
  status: DeliveryStatus;
  attempts: number;
};

/** Discards those of these deliveries that still can be; incidents are locked. Null also takes what is queued. */
export async function discardAll(
  db: Queryable,
  rows: readonly { lane: number; id: string }[],
  { failedUntil, jobId = null }: { failedUntil: string | null; jobId?: string | null },
): Promise<Discarded[]> {
  const isMeant =
    failedUntil === null
      ? sql`d.status in ('queued', 'pending', 'abandoned')`
      : sql`d.status in ('pending', 'abandoned') and d.last_attempt_at <= ${failedUntil}::timestamptz`;
  return db.query<Discarded>(sql`
    with was as (
      select d.lane, d.id, d.endpoint_id, d.tenant, d.status, d.failure_class
      from ${givenRows('picked', rows, { lane: 'smallint', id: 'text' })}
      join deliveries d on d.lane = picked.lane and d.id = picked.id
      where ${isMeant} order by d.lane, d.id for update of d
    ), gone as (
      update deliveries d set ${discarded}, job_id = coalesce(${jobId}, d.job_id) from was
      where d.lane = was.lane and d.id = was.id
      returning d.lane, d.id, d.incident_id, was.endpoint_id, was.tenant, was.status, was.failure_class, d.attempts
    ), counted as (${countOut('gone')})
    select lane, id, endpoint_id, incident_id, status, attempts from gone`);
}
