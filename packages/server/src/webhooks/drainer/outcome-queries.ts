import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import { givenUp } from '../dead-letters/queries.ts';
import { configVersion, countedByHour } from '../queries.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import type { BreakerChange } from './endpoint.ts';

/** Whether the attempt `given` was the last one of the delivery `d`, or that was discarded. */
const isLastAttempt = sql`(d.lease = given.lease or d.status = 'discarded')`;

/** One attempt and what it makes of its delivery. */
export type OutcomeRow = {
  lane: number;
  id: string;
  lease: number;
  status: DeliveryStatus;
  attempts: number;
  maxAttempts: number;
  /** Seconds until the next attempt; null when there is none. */
  delaySeconds: number | null;
  heldBy: string | null;
  failureClass: FailureClass | null;
  error: string | null;
  httpStatus: number | null;
  target: string;
  agoMillis: number;
  durationMillis: number;
  response: Buffer | null;
};

/**
 * Makes a session plan each statement once, until this is called again. The plan looks deliveries up by the keys that
 * are given: the planner took a backlog after a quiet night for a single row, and read all of it for each batch.
 */
export async function planOnce(session: Queryable): Promise<void> {
  await session.query(sql`
    select set_config(name, value, false) from (values ('plan_cache_mode', 'force_generic_plan'),
      ('enable_seqscan', 'off'), ('enable_indexscan', 'off'), ('enable_indexonlyscan', 'off')
    ) as settings (name, value)`);
  await session.query(sql`discard plans`);
}

/**
 * Writes attempts into the log and updates their deliveries; nothing changes when the lease was lost. The attempt of a
 * delivery that was discarded meanwhile is logged without its answer, which may be what was erased. The same statement
 * counts them in their hour. Returns the deliveries that were changed, each with the lease under which that was: a late
 * outcome may come together with that of a later attempt.
 */
export async function recordOutcomes(
  db: Queryable,
  rows: readonly OutcomeRow[],
): Promise<Map<string, number>> {
  const given = givenRows('given', rows, {
    lane: 'smallint',
    id: 'text',
    lease: 'bigint',
    status: 'text',
    attempts: 'int',
    maxAttempts: 'int',
    delaySeconds: 'float8',
    heldBy: 'text',
    failureClass: 'text',
    error: 'text',
    httpStatus: 'int',
    target: 'text',
    agoMillis: 'float8',
    durationMillis: 'int',
    response: 'bytea',
  });
  const changed = await db.query<{ id: string; lease: number }>(sql`
    with given as (
      select * from ${given}
    ), logged as (
      insert into delivery_attempts (lane, delivery_id, number, started_at, duration_ms, target,
        status, failure_class, error, response)
      select given.lane, given.id, given.attempts, now() - make_interval(secs => ago_millis / 1000),
        duration_millis, given.target, http_status, given.failure_class, given.error,
        case when d.status <> 'discarded' then response end
      from given
      join deliveries d on d.lane = given.lane and d.id = given.id
        and ${isLastAttempt}
      on conflict (lane, delivery_id, number) do nothing
    ), changed as (
    update deliveries d set
      status = given.status, version = d.version + 1, attempts = given.attempts,
      max_attempts = given.max_attempts,
      next_attempt_at = now() + make_interval(secs => given.delay_seconds), held_by = given.held_by,
      is_probe = false, lease = null, leased_until = null, target = given.target,
      last_status = coalesce(given.http_status, d.last_status), failure_class = given.failure_class,
      error = given.error, last_attempt_at = now(),
      finished_at = case when given.delay_seconds is null then now() end
    from given where d.lane = given.lane and d.id = given.id and d.lease = given.lease
    returning d.id, given.lease, d.lane, d.endpoint_id, d.status, d.attempts,
      case when given.http_status is not null then given.duration_millis end as answer_millis,
      given.ago_millis - given.duration_millis as ended_millis_ago
    ), ${countedByHour({ areAttempts: true })}
    select id, lease from changed`);
  return new Map(changed.map(({ id, lease }) => [id, lease]));
}

/** Lets deliveries wait whose receivers take no more for now: nothing is counted or logged. */
export async function holdBack(db: Queryable, rows: readonly OutcomeRow[]): Promise<void> {
  if (rows.length === 0) return;
  const given = givenRows('given', rows, {
    lane: 'smallint',
    id: 'text',
    lease: 'bigint',
    delaySeconds: 'float8',
    heldBy: 'text',
    target: 'text',
    httpStatus: 'int',
    error: 'text',
  });
  await db.query(sql`
    update deliveries d set
      version = d.version + 1, next_attempt_at = now() + make_interval(secs => given.delay_seconds),
      held_by = given.held_by, is_probe = false, lease = null, leased_until = null,
      target = given.target, last_status = given.http_status, error = given.error,
      throttled_since = coalesce(d.throttled_since, now())
    from ${given}
    where d.lane = given.lane and d.id = given.id and d.lease = given.lease`);
}

/** Abandons deliveries that came too late, unless the lease was lost. Returns those that were, as `recordOutcomes` does. */
export async function abandonExpired(
  db: Queryable,
  rows: readonly OutcomeRow[],
): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map();
  const given = givenRows('given', rows, {
    lane: 'smallint',
    id: 'text',
    lease: 'bigint',
    error: 'text',
  });
  const changed = await db.query<{ id: string; lease: number }>(sql`
    with changed as (
    update deliveries d set ${givenUp('expired', sql`given.error`)}
    from ${given} where d.lane = given.lane and d.id = given.id and d.lease = given.lease
    returning d.id, given.lease, d.lane, d.endpoint_id, d.status
    ), ${countedByHour({ areAttempts: false })}
    select id, lease from changed`);
  return new Map(changed.map(({ id, lease }) => [id, lease]));
}

const isKeptBy = (keeper: number) =>
  sql`exists (select from lanes where lanes.lane = e.lane and lanes.keeper = ${keeper})`;

/** Stores the new states of breakers. Endpoints whose lanes have another keeper by now are left out. */
export async function storeBreakers(
  db: Queryable,
  keeper: number,
  changes: readonly BreakerChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const given = givenRows('given', changes, {
    endpointId: 'text',
    failuresInRow: 'int',
    pausesInRow: 'int',
    pauseSeconds: 'float8',
    isClosed: 'boolean',
    throttleSeconds: 'float8',
  });
  await db.query(sql`
    update webhook_endpoints e set
      failures_in_row = given.failures_in_row, pauses_in_row = given.pauses_in_row,
      -- Fewer failures than before: there was a success in between, in the same batch.
      failing_since = case
        when given.failures_in_row = 0 then null
        when e.failures_in_row = 0 or given.failures_in_row < e.failures_in_row then now()
        else coalesce(e.failing_since, now())
      end,
      paused_until = case
        when given.is_closed then null
        else coalesce(now() + make_interval(secs => given.pause_seconds), e.paused_until)
      end,
      throttled_until = coalesce(now() + make_interval(secs => given.throttle_seconds), e.throttled_until)
    from ${given}
    where e.id = given.endpoint_id and ${isKeptBy(keeper)}`);
}

/** An attempt that was answered 410, with the version of its endpoint when the attempt began. */
export type GoneAttempt = Pick<OutcomeRow, 'lane' | 'id' | 'lease'> & {
  endpointId: string;
  configVersion: number;
};

/**
 * Disables the endpoints whose receivers no longer exist (410), and returns their ids. Who keeps the lane does not
 * matter, because an attempt may outlast a handover. The lease and the version do: a later attempt, or whoever has
 * changed the endpoint, knows better.
 */
export async function disableGone(
  db: Queryable,
  attempts: readonly GoneAttempt[],
): Promise<string[]> {
  if (attempts.length === 0) return [];
  const given = givenRows('given', attempts, {
    lane: 'smallint',
    id: 'text',
    lease: 'bigint',
    endpointId: 'text',
    configVersion: 'bigint',
  });
  const rows = await db.query<{ id: string }>(sql`
    update webhook_endpoints e set enabled = false, disabled_reason = 'gone', disabled_at = now(),
      disabled_by = null, updated_at = now()
    from ${given}
    join deliveries d on d.lane = given.lane and d.id = given.id and ${isLastAttempt}
    where e.id = given.endpoint_id and e.enabled and ${configVersion} = given.config_version
    returning e.id`);
  return rows.map((row) => row.id);
}
