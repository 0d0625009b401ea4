import sql, { join, raw, type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import type { ClaimedRow, ClaimRequest, Lease } from '../claim.ts';
import type { DeliverySettings } from '../delivery-settings.contract.ts';
import { allLanes } from '../lanes.ts';
import { configVersion, isPolled } from '../queries.ts';
import type { EndpointFacts } from './endpoint.ts';

/** Announces this session as a drainer's, by a lock that all drainers share as long as their sessions live. */
export async function announceDrainer(db: Queryable): Promise<void> {
  await db.query(sql`select pg_advisory_lock_shared(${advisoryLocks.drainers}, 0)`);
}

/**
 * Makes a session, or a transaction, follow the index of what is due, whatever the planner believes: when it last saw
 * one row, a claim of ten read and sorted the whole backlog, 120,000 blocks instead of 100.
 */
export async function followDueIndex(db: Queryable, within: 'session' | 'transaction') {
  await db.query(
    within === 'session' ? sql`set enable_sort = off` : sql`set local enable_sort = off`,
  );
}

type Survey = { drainers: number; held: number[]; now_millis: number };

/** How many drainers there are, which lanes are held, and the time of the database. */
export async function surveyLanes(db: Queryable): Promise<Survey> {
  const rows = await db.query<Survey>(sql`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_millis, count(distinct pid) filter (where classid = ${advisoryLocks.drainers}) as drainers,
      coalesce(array_agg(objid::int) filter (where classid = ${advisoryLocks.lanes}), '{}') as held
    from pg_locks where ${isHeldLock('lanes', 'drainers')}`);
  return onlyRow(rows);
}

/** Locks those of these lanes that are free, and returns them. Claims under an earlier `keeper` find nothing there. */
export async function lockLanes(
  db: Queryable,
  lanes: readonly number[],
  { keeper, silenceSeconds }: { keeper: number; silenceSeconds: number },
): Promise<number[]> {
  const rows = await db.query<{ lane: number }>(sql`
    with locked as materialized (
      select lane from unnest(${lanes}::int[]) as wanted (lane)
      where pg_try_advisory_lock(${advisoryLocks.lanes}, lane)
    )
    update lanes set keeper = ${keeper}, silence_seconds = ${silenceSeconds}
    from locked where lanes.lane = locked.lane returning lanes.lane`);
  return rows.map((row) => row.lane);
}

export async function unlockLanes(db: Queryable, lanes: readonly number[]): Promise<void> {
  await db.query(sql`
    select pg_advisory_unlock(${advisoryLocks.lanes}, lane) from unnest(${lanes}::int[]) as given (lane)`);
}

/** An endpoint that has deliveries queued or pending, due now or later. */
type DueEndpoint = EndpointFacts & {
  /** Whether a drainer may send to it: it is enabled, and its receiver does not fetch by itself. */
  readonly enabled: boolean;
  readonly isDeleted: boolean;
  /** Milliseconds until its earliest delivery is due; negative when one is due already. */
  readonly dueMillis: number;
  /** Whether anything that is due is not being attempted already. */
  readonly hasFree: boolean;
};

const isFree = sql`(d.leased_until is null or d.leased_until < now())`;

// A lease is seen in the row only, so the rows are looked at in the order of the index, and only where some are due.
// `exists` would not keep to that order.
const hasFree = sql`heads.next_attempt_at <= now() and coalesce((
    select true from deliveries d
    where d.lane = e.lane and d.endpoint_id = e.id and d.next_attempt_at <= now() and ${isFree}
    order by d.lane, d.endpoint_id, d.next_attempt_at limit 1
  ), false)`;

const hasProbe = sql`exists (
    select from deliveries d
    where d.lane = e.lane and d.endpoint_id = e.id and d.is_probe and d.next_attempt_at is not null
  )`;

const millisUntil = (time: string) =>
  sql`(extract(epoch from ${raw(time)} - now()) * 1000)::float8`;
const endpointFacts = sql`e.id, e.lane, e.tenant, e.enabled and not ${isPolled} as enabled,
  e.deleted_at is not null as "isDeleted", e.failures_in_row as "failuresInRow", e.pauses_in_row as "pausesInRow",
  e.rate_limit as "ratePerSecond", (e.delivery ->> 'max_in_flight')::int as "maxInFlight",
  ${millisUntil('e.paused_until')} as "pausedMillis", ${millisUntil('e.throttled_until')} as "throttledMillis",
  ${millisUntil('heads.next_attempt_at')} as "dueMillis", ${hasFree} as "hasFree", ${hasProbe} as "hasProbe"`;

/** The CTE `heads`: what is due first of each endpoint that waits, for one look-up each, however many rows it has. */
export const waitingHeads = (lanes: readonly number[]): Sql => sql`
    with recursive heads as (
      select head.* from unnest(${lanes}::smallint[]) as given (lane)
      cross join lateral (
        select lane, endpoint_id, next_attempt_at from deliveries
        where deliveries.lane = given.lane and next_attempt_at is not null
        order by lane, endpoint_id, next_attempt_at limit 1
      ) as head
      union all
      select next.* from heads
      cross join lateral (
        select lane, endpoint_id, next_attempt_at from deliveries
        where deliveries.lane = heads.lane and endpoint_id > heads.endpoint_id
          and next_attempt_at is not null
        order by lane, endpoint_id, next_attempt_at limit 1
      ) as next
    )`;

export async function findWaitingEndpoints(
  db: Queryable,
  lanes: readonly number[],
): Promise<DueEndpoint[]> {
  return db.query<DueEndpoint>(sql`
    ${waitingHeads(lanes)}
    select ${endpointFacts} from heads join webhook_endpoints e on e.id = heads.endpoint_id`);
}

/** Finds the same facts of the named endpoints. Endpoints of other lanes are left out. */
export async function findWaitingAmong(
  db: Queryable,
  endpointIds: readonly string[],
  lanes: readonly number[],
): Promise<DueEndpoint[]> {
  return db.query<DueEndpoint>(sql`
    select ${endpointFacts} from webhook_endpoints e
    cross join lateral (
      select next_attempt_at from deliveries
      where deliveries.lane = e.lane and endpoint_id = e.id and next_attempt_at is not null
      order by lane, endpoint_id, next_attempt_at limit 1
    ) as heads
    where e.id = any(${endpointIds}::text[]) and e.lane = any(${lanes}::smallint[])`);
}

const claimed = sql`d.lane, d.id, d.incident_id, d.endpoint_id, d.tenant,
  d.idempotency_key, d.replay_of, d.sequence, d.order_key, d.status, d.failure_class, d.attempts, d.max_attempts,
  d.schedule_from, extract(epoch from now() - d.created_at)::float8 as age_seconds,
  extract(epoch from now() - d.throttled_since)::float8 as throttled_seconds`;

/** The most rows of one claim. With more the statement takes long, and all other endpoints wait for it. */
export const claimRows = 256;

/**
 * Claims due rows, at most as many of each endpoint as asked for, and leases them. Rows that another holds are skipped,
 * and lanes with another keeper. No indexed column changes, so the update stays on the row's page (HOT). A kind that is
 * not asked for is left out: to look for it in vain took 50 to 80 µs.
 *
 * The outer limit is for the planner, which cannot know the inner ones, takes them for a tenth of the table, and then
 * reads all of it: 44 ms a claim at 100,000 rows, less than 1 ms along the indexes.
 *
 * Locked rows stay in their place, so they are updated by it: by their keys, the planner read the whole table where it
 * expected one row. A row that was changed since the statement began is left for the next claim. Bodies come once per
 * incident: 256 times the same 256 KiB took a second, and 64 MiB. Which row has it is found before the join: after it the
 * planner, which is not to sort here, read all incidents in the order of their ids, for 4 s at 56,000.
 */
export async function claimDeliveries(
  db: Queryable,
  claims: readonly ClaimRequest[],
  lease: Lease & { onlyProbes: boolean },
): Promise<ClaimedRow[]> {
  const kinds: Kind[] = lease.onlyProbes
    ? [{ which: sql`d.is_probe`, isFresh: false }]
    : [
        { which: sql`d.last_attempt_at is null`, isFresh: true },
        { which: sql`d.last_attempt_at is not null`, isFresh: false },
      ];
  const picked = join(
    kinds.flatMap((kind) => {
      const asked = claims.filter(({ isFresh }) => lease.onlyProbes || isFresh === kind.isFresh);
      return asked.length === 0 ? [] : [dueOf(asked, kind, lease.keeper)];
    }),
    ' union all ',
  );
  const rows = await db.query<Bare>(sql`
    with picked as materialized (${picked}), claimed as (
      update deliveries d
      set lease = ${lease.id}, leased_until = now() + make_interval(secs => ${lease.seconds})
      from picked where d.ctid = picked.place
      returning ${claimed}, picked.config_version, picked.waited_ms, picked.is_fresh
    ), numbered as materialized (
      select claimed.*, row_number() over (partition by incident_id) as nth from claimed
    )
    select numbered.*, i.request_id, i.trace_parent, case when nth = 1 then i.body end as body
    from numbered join incidents i on i.id = numbered.incident_id order by waited_ms desc`);
  return withBodies(rows);
}

type Bare = Omit<ClaimedRow, 'body'> & { readonly body: string | null };

/** Gives each row the body of its incident, which came once, however many endpoints get it. */
function withBodies(rows: readonly Bare[]): ClaimedRow[] {
  const bodies = new Map<string, string>();
  for (const { incident_id: id, body } of rows) if (body !== null) bodies.set(id, body);
  return rows.map((row) => ({ ...row, body: bodies.get(row.incident_id) ?? '' }));
}

/** Claims a delivery just stored by this transaction, past its endpoint's queue, breaker and rate. */
export async function claimStored(
  db: Queryable,
  { lane, id }: { lane: number; id: string },
  lease: Pick<Lease, 'id' | 'seconds'>,
): Promise<ClaimedRow | undefined> {
  const rows = await db.query<ClaimedRow>(sql`
    update deliveries d
    set lease = ${lease.id}, leased_until = now() + make_interval(secs => ${lease.seconds})
    from incidents i, webhook_endpoints e
    where d.lane = ${lane} and d.id = ${id} and i.id = d.incident_id and e.id = d.endpoint_id
    returning ${claimed}, i.request_id, i.trace_parent, i.body, ${configVersion} as config_version, 0 as waited_ms,
      true as is_fresh`);
  return rows[0];
}

/** Each kind has an index, so neither is behind many of the other. */
type Kind = { which: Sql; isFresh: boolean };

/** Locks the due rows of one kind, in their order. */
function dueOf(claims: readonly ClaimRequest[], { which, isFresh }: Kind, keeper: number): Sql {
  return sql`(
    select due.place, due.incident_id, due.waited_ms, ${isFresh}::boolean as is_fresh,
      ${configVersion} as config_version
    from ${givenRows('wanted', claims, { lane: 'smallint', endpointId: 'text', count: 'int' })}
    join lanes on lanes.lane = wanted.lane and lanes.keeper = ${keeper}
    join webhook_endpoints e on e.id = wanted.endpoint_id and e.enabled
      and e.deleted_at is null and not ${isPolled}
    cross join lateral (
      select d.ctid as place, d.incident_id,
        (extract(epoch from now() - d.next_attempt_at) * 1000)::float8 as waited_ms
      from deliveries d
      where d.lane = wanted.lane and d.endpoint_id = wanted.endpoint_id
        and d.next_attempt_at is not null and d.next_attempt_at <= now() and ${which}
        and ${isFree}
      order by d.next_attempt_at limit wanted.count
      for update of d skip locked
    ) as due
    limit ${raw(String(claimRows))}
  )`;
}

/** Gives back leased rows that were not attempted. Rows whose lease is another's by now stay as they are. */
export async function releaseDeliveries(
  db: Queryable,
  rows: readonly { lane: number; id: string }[],
  lease: number,
): Promise<void> {
  await db.query(sql`
    update deliveries d set lease = null, leased_until = null
    from ${givenRows('given', rows, { lane: 'smallint', id: 'text' })}
    where d.lane = given.lane and d.id = given.id and d.lease = ${lease}`);
}

/** What it takes to send to an endpoint, with its secrets still sealed. */
type EndpointConfigRow = {
  id: string;
  url: string;
  retry_schedule: number[] | null;
  secret: Buffer;
  headers: Buffer | null;
  delivery: DeliverySettings | null;
  delivery_keys: Buffer | null;
  previous_secrets: Buffer[];
  /** Milliseconds for which each of the previous secrets still signs, in the same order. */
  previous_secrets_ms: number[];
  config_version: number;
};

export async function findEndpointConfigs(
  db: Queryable,
  endpointIds: readonly string[],
): Promise<EndpointConfigRow[]> {
  return db.query<EndpointConfigRow>(sql`
    select id, url, retry_schedule, secret, headers, delivery, delivery_keys, previous_secrets,
      array(
        select (extract(epoch from until - now()) * 1000)::float8
        from unnest(previous_secrets_until) with ordinality as listed (until, position) order by position
      ) as previous_secrets_ms,
      ${configVersion} as config_version
    from webhook_endpoints e where id = any(${endpointIds}::text[])`);
}

/**
 * Whether anything is due or attempted, apart from endpoints that are disabled, deleted, paused or wish to be left
 * alone for a minute; an operator's retry counts in a pause, too. `svcctl drain` waits for this.
 */
export async function isAnythingDue(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ is_due: boolean }>(sql`
    ${waitingHeads(allLanes)}
    select exists (
      select from heads join webhook_endpoints e on e.id = heads.endpoint_id
      where heads.next_attempt_at <= now() and e.deleted_at is null and e.enabled and not ${isPolled}
        and (greatest(e.paused_until, e.throttled_until - interval '1 minute') <= now() is not false
          or ${hasProbe})
    ) as is_due`);
  return rows[0]?.is_due ?? false;
}
