import sql, { empty, raw, type Sql } from 'sql-template-tag';
import { findJobRow, isOfTenants, type ListedTable } from '../../platform/jobs/listed-queries.ts';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import type { ReplayRow } from '../contract.ts';
import { rearmFound } from '../dead-letters/queries.ts';
import type { Reach } from '../endpoints/queries.ts';
import { randomText } from '../incidents/insert-queries.ts';
import { neverDue, type OrderKey, orderKeyOf } from '../order/queries.ts';
import { lockReady, outcomeOfJob, type PacedTable, toldOutcome } from '../paced-queries.ts';
import {
  deliveriesOf,
  isHeldBack,
  isInMemory,
  memoryStart,
  wantsOfStored,
  wantsTypeAndStore,
} from '../queries.ts';
import { type ReplaySelection, restoredText } from '../values.ts';

const done = raw('j.rows_done + j.rows_skipped');
const columns = sql`j.id, j.state, j.tenant, j.endpoint_id, ${instantText('j.reported_from')} as since,
  ${instantText('j.reported_until')} as until, j.incident_id, j.event_types, j.selection as only,
  case when j.keeps_ids then 'same' else 'new' end as ids,
  case when j.ignores_filters then 'ignore' else 'apply' end as filters, j.rate,
  j.state in ('running', 'paused') and exists (
    select from webhook_endpoints e where e.id = j.endpoint_id and not e.enabled and e.deleted_at is null
  ) as waits_for_endpoint,
  j.state in ('running', 'paused') and j.selection <> 'failed' and exists (
    select from webhook_endpoints e where e.id = j.endpoint_id and ${isHeldBack}
  ) as waits_for_room,
  case when j.rows_total > 0 then greatest(j.rows_total, ${done}) end as rows_total, j.rows_done, j.rows_skipped, ${outcomeOfJob} as outcome, j.error, j.created_by,
  ${instantText('j.created_at')} as created_at, ${instantText('j.updated_at')} as updated_at,
  ${instantText('j.finished_at')} as finished_at`;

/** The incidents that a replay looks at: those of a range of reports, or one of it. */
export type ReplayScope = {
  readonly tenant: string;
  readonly endpointId: string;
  /** The first moment of the range, and the first after it. */
  readonly from: string;
  readonly until: string;
  readonly incidentId: string | null;
  readonly eventTypes: readonly string[] | null;
  readonly ignoresFilters: boolean;
};

/** What a replay makes of an incident, by the endpoint's last delivery of it. Statements do not know the filter. */
export type IncidentState =
  | 'missed'
  | 'discarded'
  | 'failed'
  | 'delivered'
  | 'waiting'
  | 'unwanted'
  | 'erased';

/**
 * The CTE `looked`: incidents of a scope, each with the last delivery that the endpoint has of it, and what that makes of
 * it. `incidents` selects them. Pings were sent to one endpoint, and are none of the others' business.
 */
function looked({ endpointId, eventTypes, ignoresFilters }: ReplayScope, incidents: Sql): Sql {
  const isMeant = eventTypes === null ? raw('true') : sql`kinds.wants && ${eventTypes}::text[]`;
  const isWanted = wantsTypeAndStore({ wants: sql`kinds.wants`, store: sql`walked.store` });
  return sql`walked as materialized (${incidents}), kinds as materialized (
      select type, ${wantsOfStored(sql`type`)} as wants from (select distinct type from walked) as kind
    ), looked as (
      select walked.id, walked.created_at, walked.type, walked.size_bytes, last.lane, last.delivery_id,
        coalesce(last.replay_of, last.idempotency_key) as first_key,
        coalesce(last.leased_until > now(), false) as is_in_flight,
        case when not (${ignoresFilters}::boolean or ${isWanted}) then 'unwanted'
          when walked.erased_at is not null then 'erased'
          when last.status is null then 'missed'
          when last.status = 'queued' then 'waiting'
          when last.status in ('pending', 'abandoned') then 'failed'
          else last.status end as state
      from walked join kinds using (type) join webhook_endpoints e on e.id = ${endpointId}
      left join lateral (
        select d.lane, d.id as delivery_id, d.status, d.idempotency_key, d.replay_of, d.leased_until
        from ${deliveriesOf(sql`walked.id`)} d where d.endpoint_id = e.id
        order by d.created_at desc, d.id desc limit 1
      ) last on true
      where walked.type <> 'webhook.ping' and ${isMeant}
    )`;
}

/** Where a replay has arrived, in the order of the reports. */
export type ReplayPlace = { readonly at: string; readonly id: string };

/** The incidents of a scope behind a place, of which is known what was delivered: not longer than `days` ago. */
type Walk = { readonly after: ReplayPlace | null; readonly days: number };

function incidentsOf({ tenant, from, until, incidentId }: ReplayScope, { after, days }: Walk): Sql {
  const isAfter =
    after === null
      ? empty
      : sql`and (i.created_at, i.id) > (${after.at}::timestamptz, ${after.id})`;
  const isOne = incidentId === null ? empty : sql`and i.id = ${incidentId}`;
  return sql`select i.id, i.created_at, i.type, i.store, i.erased_at, octet_length(i.body) as size_bytes
    from incidents i
    where i.tenant = ${tenant} and i.created_at >= ${from}::timestamptz and i.created_at < ${until}::timestamptz
      and ${isInMemory('i.created_at', days)} ${isOne} ${isAfter}`;
}

/** Selects the place of the last of `limit` incidents; null when there are fewer. */
const endOf = (
  limit: number,
) => sql`(select json_build_object('at', ${instantText('created_at')}, 'id', id)
  from walked order by created_at, id offset ${limit - 1} limit 1) as "end"`;

const nextOf = (scope: ReplayScope, { limit, ...walk }: Walk & { limit: number }) =>
  sql`${incidentsOf(scope, walk)} order by i.created_at, i.id limit ${limit}`;

/** Counts the next incidents behind a place by what a replay makes of them, whatever the filter says. */
export async function countByState(
  db: Queryable,
  scope: ReplayScope,
  walk: Walk & { limit: number },
): Promise<{ counts: Partial<Record<IncidentState, number>>; end: ReplayPlace | null }> {
  const rows = await db.query<Awaited<ReturnType<typeof countByState>>>(sql`
    with ${looked(scope, nextOf(scope, walk))}, counted as (select state, count(*) from looked group by state)
    select coalesce((select json_object_agg(state, count) from counted), '{}') as counts, ${endOf(walk.limit)}`);
  return onlyRow(rows);
}

export type LookedRow = {
  id: string;
  at: string;
  state: IncidentState;
  type: string;
  size_bytes: number;
  lane: number | null;
  delivery_id: string | null;
  /** The webhook-id under which it came first; null: there is no delivery. */
  first_key: string | null;
  is_in_flight: boolean;
};
export type Looked = {
  rows: LookedRow[];
  end: ReplayPlace | null;
  filter: string | null;
  /** What was reported before then was left out behind the place, because it may be forgotten; null: nothing. */
  forgotten_before: string | null;
};

const lookRows = 2000;

/**
 * Looks at the next incidents behind a place; those of other types are left out. `end` is the last of them, null when
 * there are fewer. `filter` is that of the endpoint at the same moment; null where it has none, or it is ignored.
 */
export async function lookAt(
  db: Queryable,
  scope: ReplayScope,
  { limit = lookRows, ...walk }: Walk & { limit?: number },
): Promise<Looked> {
  const start = memoryStart(walk.days);
  const rows = await db.query<Looked>(sql`
    with ${looked(scope, nextOf(scope, { ...walk, limit }))}
    select coalesce((select json_agg(json_build_object('id', id, 'at', ${instantText('created_at')}, 'state', state,
        'type', type, 'size_bytes', size_bytes, 'lane', lane, 'delivery_id', delivery_id, 'first_key', first_key,
        'is_in_flight', is_in_flight) order by created_at, id) from looked), '[]') as rows,
      ${endOf(limit)},
      (select filter from webhook_endpoints where id = ${scope.endpointId} and not ${scope.ignoresFilters}::boolean)
        as filter,
      (select case when start > ${walk.after?.at ?? scope.from}::timestamptz then ${instantText('start')} end
        from (select least(${start}, ${scope.until}::timestamptz) as start) as memory) as forgotten_before`);
  return onlyRow(rows);
}

/** The place of the last of some incidents; null where there is none. */
export function placeOf(rows: readonly LookedRow[]): ReplayPlace | null {
  const last = rows.at(-1);
  return last === undefined ? null : { at: last.at, id: last.id };
}

/** What is sent of incidents, for the filter of an endpoint. Those that were erased have nothing, and are left out. */
export async function listBodies(
  db: Queryable,
  rows: readonly { readonly id: string }[],
): Promise<
  { id: string; type: string; store: string | null; occurred_at: string; body: string }[]
> {
  return db.query(sql`
    select id, type, store, ${instantText('incidents.occurred_at')} as occurred_at, body from incidents
    where id = any(${rows.map(({ id }) => id)}::text[]) and erased_at is null`);
}

/** Locks incidents that have their payload, without a wait for whoever erases them, and answers their ids. */
export async function lockIncidents(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(sql`
    select id from incidents where id = any(${ids}::text[]) and erased_at is null for share skip locked`);
  return new Set(rows.map(({ id }) => id));
}

/** A delivery to be made; `firstKey` is the webhook-id under which the endpoint got the incident first. */
export type NewDelivery = {
  readonly incidentId: string;
  readonly type: string;
  readonly timeText: string;
  readonly firstKey: string | null;
  readonly place: number;
};

/** They are due in the order of the reports: a microsecond apart. */
const dueInOrder = sql`now() + place * interval '1 microsecond'`;

/** The store or the group of an incident, by which the endpoint `e` orders. It is looked up where there is an order. */
function keyOfIncident(id: Sql): Sql {
  const ofIncident = (column: string) =>
    sql`(select ${raw(column)} from incidents i where i.id = ${id})`;
  return orderKeyOf(ofIncident('store'), ofIncident('order_group'));
}

/** The keys that an endpoint orders these incidents by; none where it has no order. */
export async function listKeysOf(
  db: Queryable,
  endpointId: string,
  rows: readonly NewDelivery[],
): Promise<OrderKey[]> {
  return db.query<OrderKey>(sql`
    select distinct e.id as "endpointId", key from webhook_endpoints e
    cross join unnest(${rows.map(({ incidentId }) => incidentId)}::text[]) as given (incident_id)
    cross join lateral (select ${keyOfIncident(sql`incident_id`)} as key) as ordered
    where e.id = ${endpointId} and e.ordered is not null and key is not null`);
}

/** Makes deliveries of locked incidents. They count as tried, so that the drainer takes what is reported first. */
export async function makeDeliveries(
  db: Queryable,
  { id, endpointId, keepsIds, maxAttempts }: ReplayJob,
  rows: readonly NewDelivery[],
): Promise<number> {
  const made = await db.query(sql`
    with given as materialized (
      select given.*, ${randomText} as random from ${givenRows('given', rows, {
        incidentId: 'text',
        type: 'text',
        timeText: 'text',
        firstKey: 'text',
        place: 'int',
      })}
    )
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key,
      max_attempts, size_bytes, next_attempt_at, last_attempt_at, replay_of, replay_id, order_key, order_state)
    select e.lane, 'dlv_' || lpad(e.lane::text, 2, '0') || time_text || substr(random, 1, 11), incident_id, e.id,
      e.tenant, type, e.url,
      coalesce(case when ${keepsIds}::boolean then first_key end, 'msg_' || substr(random, 12, 16)),
      coalesce(e.max_attempts, ${maxAttempts}), (select octet_length(body) from incidents i where i.id = incident_id),
      case when key is null then ${dueInOrder} else ${neverDue} end, now(),
      first_key, ${id}, key, case when key is not null then 'joins' end
    from given join webhook_endpoints e on e.id = ${endpointId}
    cross join lateral (select ${keyOfIncident(sql`incident_id`)} as key) as ordered order by place
    returning 1`);
  return made.length;
}

/** Re-arms dead letters, and counts them out of the queue. Those of which an attempt is under way are left alone. */
export async function rearmInOrder(
  db: Queryable,
  { id, endpointId, maxAttempts }: ReplayJob,
  rows: readonly { readonly lane: number; readonly id: string; readonly place: number }[],
): Promise<number> {
  const found = sql`
    ${givenRows('given', rows, { lane: 'smallint', id: 'text', place: 'int' })}
    join deliveries d on d.lane = given.lane and d.id = given.id
    cross join webhook_endpoints e where e.id = ${endpointId}`;
  const budget = sql`coalesce(e.max_attempts, ${maxAttempts}::int)`;
  const how = { budget, isProbe: sql`false`, dueAt: dueInOrder, sets: sql`replay_id = ${id}` };
  const [counted] = await rearmFound(db, found, how);
  return counted?.count ?? 0;
}

/** Counts the deliveries of a replay that were not tried yet, up to `limit`. */
export async function countUntried(db: Queryable, id: string, limit: number): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select from deliveries where replay_id = ${id} and status = 'queued' limit ${limit}
    ) as untried`);
  return rows[0]?.count ?? 0;
}

export type NewReplay = ReplayScope & {
  readonly id: string;
  readonly selection: ReplaySelection;
  readonly keepsIds: boolean;
  readonly rate: number | null;
  readonly maxAttempts: number;
  readonly rowsTotal: number;
  readonly createdBy: string;
};

export async function insertReplay(db: Queryable, job: NewReplay): Promise<void> {
  await db.query(sql`
    insert into replays (id, state, tenant, endpoint_id, selection, reported_from, reported_until, incident_id,
      event_types, keeps_ids, ignores_filters, rate, max_attempts, rows_total, created_by)
    values (${job.id}, 'running', ${job.tenant}, ${job.endpointId}, ${job.selection}, ${job.from},
      ${job.until}, ${job.incidentId}, ${job.eventTypes}::text[], ${job.keepsIds}, ${job.ignoresFilters},
      ${job.rate}, ${job.maxAttempts}, ${job.rowsTotal}, ${job.createdBy})`);
}

/** Finds a replay of the endpoint that has not ended and whose range overlaps. */
export async function findOverlapping(
  db: Queryable,
  { endpointId, from, until }: ReplayScope,
): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(sql`
    select id from replays where endpoint_id = ${endpointId} and state in ('running', 'paused')
      and reported_from < ${until}::timestamptz and reported_until > ${from}::timestamptz
    order by created_at limit 1`);
  return rows[0]?.id;
}

export const replayTable: PacedTable = {
  name: 'replays',
  requestedAt: 'created_at',
  isInReach: isOfTenants,
  kind: raw(`'replay'`),
  columns,
  dueAt: raw('j.ready_at'),
  ended: [raw('ready_at = null')],
};

/** Those of a range of reports. One of a single incident is as small an act as a retry of one delivery. */
export const rangeReplays: PacedTable = { ...replayTable, isListed: sql`j.incident_id is null` };

/** Finds a replay; undefined when it is unknown or of a tenant out of reach. */
export const findReplay = (db: Queryable, reach: Reach, id: string) =>
  findJobRow<ReplayRow>(db, replayTable, columns, { id, reach });

export const listedReplays: ListedTable = {
  ...replayTable,
  state: raw('j.state'),
  error: raw('j.error'),
  startedAt: 'created_at',
  finishedAt: 'finished_at',
  requestedBy: raw('j.created_by'),
  done,
  // It may be more than was counted, and is 0 where not all could be counted.
  total: sql`case when j.rows_total > 0 and j.rows_total >= ${done} then j.rows_total end`,
  told: sql`json_build_object('endpoint_id', j.endpoint_id, 'only', j.selection, 'incident_id', j.incident_id,
    'since', ${instantText('j.reported_from')}, 'until', ${instantText('j.reported_until')},
    ${toldOutcome})`,
};

export type ReplayJob = Omit<NewReplay, 'rowsTotal' | 'createdBy'> & {
  readonly place: ReplayPlace | null;
  readonly isEndpointDisabled: boolean;
  /** Whether so much waits that nothing more is queued for the endpoint. */
  readonly isHeldBack: boolean;
  /** Whether the range ended so long ago that each report of it is committed. */
  readonly isSettled: boolean;
};

/**
 * See `lockReady`. `settleSeconds` is how long a report may take to be committed: the replay looks only at older ones,
 * because one that is committed late would stand before the place where it has arrived.
 */
export function lockReadyReplay(db: Queryable, settleSeconds: number) {
  const settled = `now() - make_interval(secs => ${settleSeconds})`;
  const until = `case when j.incident_id is null then least(j.reported_until, ${settled}) else j.reported_until end`;
  return lockReady<ReplayJob>(
    db,
    replayTable,
    sql`j.id, j.tenant, j.endpoint_id as "endpointId", j.selection, ${instantText('j.reported_from')} as "from",
      ${instantText(until)} as until, j.incident_id as "incidentId", j.event_types as "eventTypes",
      j.keeps_ids as "keepsIds", j.ignores_filters as "ignoresFilters", j.rate, j.max_attempts as "maxAttempts",
      case when j.place_id is not null then json_build_object('at', ${instantText('j.place_at')}, 'id', j.place_id) end
        as place,
      exists (select from webhook_endpoints e where e.id = j.endpoint_id and not e.enabled) as "isEndpointDisabled",
      exists (select from webhook_endpoints e where e.id = j.endpoint_id and ${isHeldBack}) as "isHeldBack",
      j.reported_until < ${raw(settled)} as "isSettled"`,
  );
}

export type ReplayShare = {
  readonly done: number;
  readonly skipped: number;
  /** Where it goes on; null: where it is. */
  readonly place: ReplayPlace | null;
  readonly isLast: boolean;
  /** Why it is not all that was asked for; null: nothing more than before. */
  readonly error: string | null;
  /** Seconds until it may go on, whatever its rate. */
  readonly waitSeconds: number;
};

/** Notes a share, and when the replay may go on by its rate, which so holds over all processes together. */
export async function advanceReplay(db: Queryable, id: string, share: ReplayShare): Promise<void> {
  const { done, skipped, place, isLast, error, waitSeconds } = share;
  await db.query(sql`
    update replays set rows_done = rows_done + ${done}::int, rows_skipped = rows_skipped + ${skipped}::int,
      place_at = coalesce(${place?.at ?? null}::timestamptz, place_at), place_id = coalesce(${place?.id ?? null}, place_id),
      error = coalesce(${error}, nullif(error, ${restoredText})), state = case when ${isLast}::boolean then 'completed' else state end,
      finished_at = case when ${isLast}::boolean then clock_timestamp() end, updated_at = clock_timestamp(),
      ready_at = greatest(ready_at, clock_timestamp())
        + make_interval(secs => greatest(${waitSeconds}::float8, coalesce(${done}::float8 / rate, 0)))
    where id = ${id}`);
}
