import sql, { empty, raw, type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { givenRows, instantText } from '../platform/postgres/sql-text.ts';
import { addedTimes, timesOf } from './answer-queries.ts';
import { placed } from './lanes.ts';
import { pollUrl } from './values.ts';

/** Where a walk along (created_at, id) has arrived. */
export type WalkPosition = { at: string; id: string };

/**
 * The CTE `walked`: the next `limit` rows made more than `days` days ago, in their order, with these columns beside.
 */
export function walked(
  table: 'deliveries' | 'incidents',
  columns: string,
  { days, after, limit }: { days: number; after: WalkPosition | null; limit: number },
): Sql {
  return sql`walked as materialized (
      select id, created_at, ${raw(columns)} from ${raw(table)} where created_at < now() - make_interval(days => ${days})
        and (created_at, id) > (${after?.at ?? '-infinity'}::timestamptz, ${after?.id ?? ''})
      order by created_at, id limit ${limit}
    )`;
}

/** Selects where a walk goes on; nothing at its end. */
const walksOn = (limit: number) => sql`
  select ${instantText('created_at')} as at, id from walked order by created_at, id offset ${limit - 1}`;

const isOver = (
  delivery: string,
  days: number,
) => sql`(${raw(delivery)}.status in ('delivered', 'discarded')
  and ${raw(delivery)}.finished_at < now() - make_interval(days => ${days}))`;

/**
 * Looks at the next `limit` deliveries made more than `days` days ago, and deletes those that ended so long ago, with
 * their attempts. Abandoned ones stay until they are purged, one that others wait for until these go on, and all of an
 * incident as long as its idempotency key counts. Returns where to go on, or null at the end.
 */
export async function forgetDeliveries(
  db: Queryable,
  days: number,
  after: WalkPosition | null,
  limit: number,
): Promise<WalkPosition | null> {
  const rows = await db.query<WalkPosition>(sql`
    with ${walked('deliveries', 'lane, incident_id', { days, after, limit })}, ended as (
      delete from deliveries d using walked w
      where d.lane = w.lane and d.id = w.id and ${isOver('d', days)} and d.order_state is distinct from 'head'
        and not exists (
          select from incident_keys k
          where k.incident_id = w.incident_id and (
            k.created_at > now() - interval '30 days'
            or exists (
              select from deliveries other where other.incident_id = w.incident_id and not ${isOver('other', days)}
            )
          )
        )
      returning d.lane, d.id
    ), forgotten as (
      delete from delivery_attempts a using ended where a.lane = ended.lane and a.delivery_id = ended.id
    ) ${walksOn(limit)}`);
  return rows[0] ?? null;
}

/** Does the same with incidents that have no delivery left. */
export async function forgetIncidents(
  db: Queryable,
  days: number,
  after: WalkPosition | null,
  limit: number,
): Promise<WalkPosition | null> {
  const rows = await db.query<WalkPosition>(sql`
    with ${walked('incidents', 'tenant', { days, after, limit })}, forgotten as (
      delete from incidents i using walked w
      where i.id = w.id and not exists (select from deliveries d where d.incident_id = i.id)
    ) ${walksOn(limit)}`);
  return rows[0] ?? null;
}

/** Whether a key is free again: after 30 days, and not while a delivery is there that its answer names. */
export const hasRunOut = sql`incident_keys.created_at <= now() - interval '30 days'
  and not exists (select from deliveries d where d.incident_id = incident_keys.incident_id)`;

/** Takes up to `limit` deliveries out of what is handed out that have ended otherwise. Returns how many there were. */
export async function forgetHandedOut(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from pulled_deliveries where (endpoint_id, position) in (
        select p.endpoint_id, p.position from pulled_deliveries p
        where not exists (
          select from deliveries d
          where d.lane = p.lane and d.id = p.delivery_id and d.next_attempt_at is not null)
        limit ${limit}
      ) returning 1
    )
    select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

/**
 * Deletes keys that are free again, up to `limit` of those that came of age in the last week, and of those from before
 * the deliveries that are kept, which is `days` days. Between the two, deliveries of most are there: a year of keys would
 * be looked up in vain each time. Returns how many there were.
 */
export async function forgetKeys(db: Queryable, limit: number, days: number): Promise<number> {
  const free = (age: Sql) => sql`array(
    select ctid from incident_keys where ${age} and ${hasRunOut} order by created_at limit ${limit})`;
  const isRipe = sql`created_at <= now() - interval '30 days' and created_at > now() - interval '37 days'`;
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from incident_keys where ctid = any(
        ${free(isRipe)} || ${free(sql`created_at <= now() - make_interval(days => ${days})`)}
      ) and ${hasRunOut} returning 1
    )
    select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

/** Deletes bulk retries, purges and replays that ended more than `days` days ago; there are few. */
export async function forgetJobs(db: Queryable, days: number): Promise<void> {
  for (const name of ['dead_letter_jobs', 'replays']) {
    await db.query(sql`
      delete from ${raw(name)} where state in ('completed', 'cancelled')
        and finished_at < now() - make_interval(days => ${days})`);
  }
}

/**
 * The deliveries of an incident, few as they are, looked up by it alone. The planner takes a range for a two-hundredth of
 * the table whatever it knows of it. Where it had not looked at the table yet, or had when that held one incident, it read
 * all deliveries of the endpoint, or of everybody, for each incident: 4,000 of each took 8 s.
 */
export const deliveriesOf = (incidentId: Sql): Sql => sql`(
    select * from deliveries where incident_id >= ${incidentId} and incident_id <= ${incidentId} offset 0)`;

/** Whether it is known what was delivered of what was made then, and still is within the next hour. */
export const isInMemory = (time: string, days: number) => sql`${raw(time)} >= ${memoryStart(days)}`;

/** From when on it is known what was delivered. */
export const memoryStart = (days: number) => sql`greatest(
  now() - make_interval(days => ${days}) + interval '1 hour', (select forgotten_before from delivery_memory))`;

/** From when on it is known what was delivered, if that is later than `since`; else null. */
export async function findForgotten(
  db: Queryable,
  days: number,
  since: string,
): Promise<string | null> {
  const rows = await db.query<{ before: string | null }>(sql`
    select case when start > ${since}::timestamptz then ${instantText('start')} end as before
    from (select ${memoryStart(days)} as start) as memory`);
  return rows[0]?.before ?? null;
}

/** Notes that what was made more than `days` days ago may be forgotten from now on. */
export async function noteForgetting(db: Queryable, days: number): Promise<void> {
  await db.query(sql`
    insert into delivery_memory (forgotten_before) values (now() - make_interval(days => ${days}))
    on conflict (is_only) do update
      set forgotten_before = greatest(delivery_memory.forgotten_before, excluded.forgotten_before)`);
}

/** Deletes up to `limit` counts of hours that nobody asks for any more. Returns how many. */
export async function forgetHours(db: Queryable, limit: number): Promise<number> {
  const old = sql`hour < now() - make_interval(hours => ${keptHours})`;
  const rows = await db.query<{ count: number }>(sql`
    with totals as (
      delete from delivery_hours where ${old}
    ), gone as (
      delete from endpoint_hours where ctid = any(array(
        select ctid from endpoint_hours where ${old} limit ${limit}
      )) returning 1
    )
    select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

/** The notification channel of wake-ups. The payload is endpoint ids separated by spaces, or `*` for all. */
const dueChannel = 'svcctl_due';

export async function notifyDue(db: Queryable, endpointIds: string): Promise<void> {
  // A wake-up may be lost, so it does not wait for the disk.
  await db.query(
    sql`select set_config('synchronous_commit', 'off', true), pg_notify(${dueChannel}, ${endpointIds})`,
  );
}

export async function listenForDue(db: Queryable): Promise<void> {
  await db.query(sql`listen ${raw(dueChannel)}`);
}

/** Whether the receiver of the endpoint `e` fetches its deliveries. */
export const isPolled = raw(`(e.url = '${pollUrl}')`);

/** Since when nobody has polled while a delivery could be fetched; null where nothing waits. */
export const unpolledSince = sql`(
  select greatest((select polled_at from pull_places p where p.endpoint_id = webhook_endpoints.id), d.next_attempt_at)
  from deliveries d where d.lane = webhook_endpoints.lane and d.endpoint_id = webhook_endpoints.id
    and d.next_attempt_at is not null order by d.next_attempt_at limit 1)`;
/** Whether that is long enough for somebody to be told. */
export const isUnpolled = sql`url = ${raw(`'${pollUrl}'`)} and ${unpolledSince} <= now() - interval '1 hour'`;

export const isHeldBack = raw('e.held_back_from is not null and e.held_back_until is null');

/** Since when they are or were, as JSON; null: they were not. */
export const heldBack = sql`case when held_back_from is not null then json_build_object(
  'since', ${instantText('held_back_from')}, 'until', ${instantText('held_back_until')}) end`;

/** A number that changes whenever the endpoint `e` is changed: `updated_at` in microseconds. */
export const configVersion = sql`(extract(epoch from e.updated_at) * 1000000)::bigint`;

/**
 * The types of events that an endpoint wants, and patterns of them. Of patterns the previous release knows only `*`: so
 * event_types is that beside them, and anything else is what that release has written since.
 */
export const wantedTypes = sql`case when event_patterns is null or event_types <> '{*}' then event_types
  else event_patterns end`;

/** Whether the endpoint `e` wants an incident by its type and store. `wants` is what `wantsOf` makes of the type. */
export function wantsTypeAndStore({ wants, store }: { wants: Sql; store: Sql }): Sql {
  return sql`(${wantedTypes} && ${wants} and (e.stores is null or coalesce(${store} = any(e.stores), false)))`;
}

/** What `wantsOf` makes of types that only the statement knows. */
export function wantsOfStored(type: Sql): Sql {
  const segments = sql`string_to_array(${type}, '.')`;
  return sql`array[${type}, '*'] || array(
    select array_to_string((${segments})[:n], '.') || '.*' from generate_series(1, cardinality(${segments}) - 1) as n)`;
}

/** What enabling an endpoint changes of what is known of its receiver: its breaker closes, and it is sent to at once. */
export const breakerClosed = sql`failing_since = null, failures_in_row = 0, pauses_in_row = 0, paused_until = null,
  throttled_until = null`;

/** For so many hours it is known how many deliveries there were in each. */
export const keptHours = 30 * 24;

/** The hour that is counted now. */
export const hourNow = sql`date_trunc('hour', now(), 'UTC')`;
const addToHour = (table: string) => sql`do update set
  delivered = ${raw(table)}.delivered + excluded.delivered,
  failed = ${raw(table)}.failed + excluded.failed,
  abandoned = ${raw(table)}.abandoned + excluded.abandoned`;

/** So many of the newest attempts at an endpoint are remembered. */
const recentAttempts = 12;

/** What `countedByHour` counts of deliveries that were attempted: the columns that `changed` has of their attempts. */
const ofAttempts = {
  summed: sql`, ${timesOf('answer_millis')} as answer_times,
      (array_agg(id || '/' || attempts order by ended_millis_ago))[1:${raw(String(recentAttempts))}] as recent`,
  added: sql`, answer_times = ${addedTimes('endpoint_hours.answer_times', 'excluded.answer_times')}`,
  noted: sql`insert into endpoint_attempts (lane, endpoint_id, recent)
    select lane, endpoint_id, recent from changed_by_endpoint where (select count(*) from counted) > 0
    order by lane, endpoint_id collate "C"
    on conflict (lane, endpoint_id) do update set
      recent = (excluded.recent || endpoint_attempts.recent)[1:${raw(String(recentAttempts))}]
    returning 1`,
};

/**
 * The parts of a statement that count what became of the deliveries in its CTE `changed` (lane, endpoint_id, and the
 * status that they have now; of attempts also id, attempts, answer_millis, null without an answer, and
 * ended_millis_ago). They aggregate, so all deliveries are locked before the first count is; and counts are locked in
 * the order of their keys, those of all endpoints last, so that no two transactions deadlock.
 */
export function countedByHour({ areAttempts }: { areAttempts: boolean }): Sql {
  const { summed, added, noted } = areAttempts
    ? ofAttempts
    : {
        summed: sql`, null::integer[] as answer_times`,
        added: empty,
        noted: sql`select 1 from counted`,
      };
  return sql`changed_by_endpoint as (
    select lane, endpoint_id, count(*) filter (where status = 'delivered') as delivered,
      count(*) filter (where status = 'pending') as failed,
      count(*) filter (where status = 'abandoned') as abandoned ${summed}
    from changed group by lane, endpoint_id
  ), counted as (
    insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned, answer_times)
    select lane, endpoint_id, ${hourNow}, delivered, failed, abandoned, answer_times from changed_by_endpoint
    order by lane, endpoint_id collate "C"
    on conflict (lane, endpoint_id, hour) ${addToHour('endpoint_hours')} ${added}
    returning 1
  ), noted as (
    ${noted}
  ), totalled as (
    insert into delivery_hours (hour, lane, delivered, failed, abandoned)
    select ${hourNow}, min(lane), sum(delivered), sum(failed), sum(abandoned) from changed_by_endpoint
    having (select count(*) from noted) > 0
    on conflict (hour, lane) ${addToHour('delivery_hours')}
  )`;
}

/** What became of attempts in one hour. `at` counts the hours from the first one asked for. */
export type HourCounts = { at: number; delivered: number; failed: number; abandoned: number };

const hourColumns = (from: string) => sql`
  (extract(epoch from hour - ${from}::timestamptz) / 3600)::int as at,
  sum(delivered)::bigint as delivered, sum(failed)::bigint as failed,
  sum(abandoned)::bigint as abandoned`;

/** The first of the last so many hours, the present one included, as RFC 3339 text. */
export async function findFirstHour(db: Queryable, hours: number): Promise<string> {
  const rows = await db.query<{ first: string }>(sql`
    select ${instantText('first')} as first
    from (select ${hourNow} - make_interval(hours => ${hours - 1}) as first) as hours`);
  return rows[0]?.first ?? '';
}

/** The hours of these endpoints, each for itself, since `from`. Those in which nothing happened are left out. */
export async function listHoursOf(
  db: Queryable,
  endpointIds: readonly string[],
  from: string,
): Promise<(HourCounts & { endpoint_id: string })[]> {
  return db.query(sql`
    select endpoint_id, ${hourColumns(from)}
    from ${givenRows('wanted', placed(endpointIds), { lane: 'smallint', id: 'text' })}
    join endpoint_hours h on h.lane = wanted.lane and h.endpoint_id = wanted.id
    where hour >= ${from}::timestamptz group by endpoint_id, hour`);
}

/** The hours of all endpoints of some tenants, or of all tenants (null), since `from`. */
export async function listHours(
  db: Queryable,
  tenants: readonly string[] | null,
  from: string,
): Promise<HourCounts[]> {
  if (tenants === null) {
    return db.query(sql`
      select ${hourColumns(from)} from delivery_hours where hour >= ${from}::timestamptz group by hour`);
  }
  return db.query(sql`
    select ${hourColumns(from)} from webhook_endpoints e
    join endpoint_hours h on h.lane = e.lane and h.endpoint_id = e.id
    where e.tenant = any(${tenants}::text[]) and hour >= ${from}::timestamptz group by hour`);
}

/** Finds the tenant of an endpoint, deleted or not; undefined when there is no such endpoint. */
export async function findTenantOfEndpoint(
  db: Queryable,
  endpointId: string,
): Promise<string | undefined> {
  const rows = await db.query<{ tenant: string }>(
    sql`select tenant from webhook_endpoints where id = ${endpointId}`,
  );
  return rows[0]?.tenant;
}

/**
 * Locks incidents until the end of the transaction, all in one order. Whoever also locks deliveries does so after it.
 */
export async function lockIncidents(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(sql`select from incidents where id = any(${ids}::text[]) order by id for update`);
}

/**
 * Makes `data` null in these incidents; `unlessNeeded`: not where a delivery, or a replay of what was held back, may.
 */
export async function erasePayloads(
  db: Queryable,
  ids: readonly string[],
  { unlessNeeded }: { unlessNeeded: boolean },
): Promise<void> {
  await db.query(sql`
    update incidents i set body_bytes = octet_length(body), erased_at = now(),
      body = '{"type":"' || type || '","timestamp":"' || ${instantText('i.occurred_at')} || '","data":null}'
    where id = any(${ids}::text[]) and erased_at is null and not (${unlessNeeded}::boolean and exists (
      select from ${deliveriesOf(sql`i.id`)} d where d.status in ('queued', 'pending', 'abandoned')
      union all
      select from unnest(i.held_back) as held (id) join webhook_endpoints e using (id)
      where e.deleted_at is null
        and not exists (select from ${deliveriesOf(sql`i.id`)} d where d.endpoint_id = e.id)))`);
}

export const attemptsWithAnswers = (deliveries: Sql) => sql`delivery_attempts a
  join deliveries d on d.lane = a.lane and d.id = a.delivery_id where a.response is not null and ${deliveries}`;

/** Removes the stored answers of these incidents, or of these deliveries. Their sizes stay. Returns how many. */
export async function eraseAnswers(
  db: Queryable,
  of: { incidentIds: readonly string[] } | { deliveries: readonly { lane: number; id: string }[] },
): Promise<number> {
  const deliveries =
    'incidentIds' in of
      ? sql`d.incident_id = any(${of.incidentIds}::text[])`
      : sql`(d.lane, d.id) in (select * from ${givenRows('gone', of.deliveries, { lane: 'smallint', id: 'text' })})`;
  const rows = await db.query(sql`
    update delivery_attempts set response_bytes = octet_length(response), response = null
    where (lane, delivery_id, number) in (select a.lane, a.delivery_id, a.number from ${attemptsWithAnswers(deliveries)})
    returning 1`);
  return rows.length;
}

/** The time of the database, in seconds since 1970. It is signed, since the clock of this process may be wrong. */
export async function readWallSeconds(db: Queryable): Promise<number> {
  const rows = await db.query<{ seconds: number }>(
    sql`select floor(extract(epoch from clock_timestamp()))::float8 as seconds`,
  );
  return onlyRow(rows).seconds;
}
