import sql, { empty, join, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { AcceptedDelivery, IncidentRow } from '../contract.ts';
import { where } from '../dead-letters/read-queries.ts';
import {
  anyOf,
  isInAnswer,
  isInPayload,
  isOfType,
  isReportedAs,
  isReportedIn,
  ofDelivery,
  type SoughtInBoth,
} from '../find-queries.ts';
import { deliveriesOf } from '../queries.ts';
import type { Scan } from '../scan.ts';
import type { DeliveryStatus } from '../values.ts';

const columns = sql`id, tenant, store, type, ${instantText('incidents.occurred_at')} as occurred_at,
  ${instantText('incidents.created_at')} as created_at`;

type IncidentWithBody = IncidentRow & {
  filtered_out: string[];
  held_back: string[];
  body: string;
  size_bytes: number;
  erased_at: string | null;
  request_id: string | null;
};

export async function findIncident(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<IncidentWithBody | undefined> {
  const rows = await db.query<IncidentWithBody>(sql`
    select ${columns}, coalesce(filtered_out, '{}') as filtered_out,
      coalesce(held_back, '{}') as held_back, body, coalesce(body_bytes, octet_length(body)) as size_bytes,
      ${instantText('erased_at')} as erased_at, request_id from incidents where id = ${id}
      and (${reach}::text[] is null or tenant = any(${reach}::text[]))`);
  return rows[0];
}

/** The newest incidents of a tenant, with what is sent of them: no pings, and none that was erased. */
export async function listNewestBodies(
  db: Queryable,
  tenant: string,
  limit: number,
): Promise<(Omit<IncidentRow, 'tenant'> & { body: string })[]> {
  return db.query(sql`
    select id, store, type, ${instantText('incidents.occurred_at')} as occurred_at,
      ${instantText('incidents.created_at')} as created_at, body
    from incidents where tenant = ${tenant} and erased_at is null and type <> 'webhook.ping'
    order by incidents.created_at desc, id desc limit ${limit}`);
}

/** Lists the deliveries of an incident, by endpoint: all, or only those that were made with it, at the same time. */
export async function listDeliveriesOfIncident(
  db: Queryable,
  incidentId: string,
  { onlyFirst = false } = {},
): Promise<AcceptedDelivery[]> {
  const isFirst = onlyFirst
    ? sql`and created_at = (select created_at from incidents where id = ${incidentId})`
    : empty;
  return db.query<AcceptedDelivery>(sql`
    select id, endpoint_id, idempotency_key, status from deliveries
    where incident_id = ${incidentId} ${isFirst} order by endpoint_id, created_at, id`);
}

/** The group of incidents, and how their bodies begin: `most` characters of each; null of those that were erased. */
export async function listBeginnings(
  db: Queryable,
  ids: readonly string[],
  most: number,
): Promise<{ id: string; group: string | null; begins: string | null }[]> {
  return db.query(sql`
    select id, order_group as "group", case when erased_at is null then left(body, ${most}) end as begins
    from incidents where id = any(${ids}::text[])`);
}

export async function countDeliveries(
  db: Queryable,
  incidentIds: readonly string[],
): Promise<{ incident_id: string; status: DeliveryStatus; count: number }[]> {
  return db.query(sql`
    select incident_id, status, count(*) as count from deliveries
    where incident_id = any(${incidentIds}::text[]) group by incident_id, status`);
}

/** The incidents that a list reads. An index has them in the order of the list. */
type IncidentSource = {
  tenants: readonly string[] | null;
  /** Only this incident, or that of this delivery. */
  id: string | undefined;
  deliveryId: { lane: number; id: string } | undefined;
  /** The days on which they were reported, both ends included. */
  from: string | undefined;
  to: string | undefined;
  /** Whether only those are read of which a delivery is pending or abandoned. */
  hasFailed: boolean;
};

/** Filters that no index serves: the incidents of the source are read and compared. */
type SoughtIncidents = SoughtInBoth & {
  store: string | undefined;
  /** One delivery has to have what is sought of deliveries, and to go to this endpoint. */
  endpointId: string | undefined;
};

export type IncidentKey = readonly [createdAt: string, id: string];

/** Lists the newest incidents that a source has, at most `scan.limit`. */
export async function listIncidents(
  db: Queryable,
  source: IncidentSource,
  sought: SoughtIncidents,
  scan: Scan<IncidentKey>,
): Promise<IncidentRow[]> {
  return db.query<IncidentRow>(sql`
    select ${columns} from (${newestOf(source, scan)}) as incidents
    ${where(soughtConditions(sought))}
    order by incidents.created_at desc, incidents.id desc limit ${scan.limit}`);
}

/** Finds the last of the incidents that a scan looked at; undefined when the list ended before. */
export async function findScanEnd(
  db: Queryable,
  source: IncidentSource,
  scan: Scan<IncidentKey>,
): Promise<IncidentKey | undefined> {
  const rows = await db.query<{ at: string; id: string }>(sql`
    select ${instantText('incidents.created_at')} as at, id from (${newestOf(source, scan)}) as incidents
    order by incidents.created_at desc, incidents.id desc offset ${(scan.scanLimit ?? scan.limit) - 1} limit 1`);
  return rows[0] === undefined ? undefined : [rows[0].at, rows[0].id];
}

/** The newest incidents of the source: a page of each tenant, so it costs the same however rare its incidents are. */
function newestOf(source: IncidentSource, scan: Scan<IncidentKey>): Sql {
  const newest = source.hasFailed ? newestFailed : newestReported;
  if (source.tenants === null) return newest(source, scan, empty);
  return sql`select incident.* from unnest(${source.tenants}::text[]) as asked(name)
    cross join lateral (${newest(source, scan, sql`asked.name`)}) as incident
    order by incident.created_at desc, incident.id desc limit ${scan.scanLimit ?? scan.limit}`;
}

function newestReported(source: IncidentSource, scan: Scan<IncidentKey>, tenant: Sql): Sql {
  return sql`select id, tenant, store, type, occurred_at, created_at from incidents
    ${where(sourceConditions(source, scan, { tenant, id: sql`id` }))}
    order by created_at desc, id desc limit ${scan.scanLimit ?? scan.limit}`;
}

/**
 * Finds incidents of which a delivery failed by their dead letters, which are few. A delivery is created at the same
 * time as its incident, unless a replay made it. The limit inside makes PostgreSQL look each incident up by its id.
 */
function newestFailed(source: IncidentSource, scan: Scan<IncidentKey>, tenant: Sql): Sql {
  const conditions = sourceConditions(source, scan, { tenant, id: sql`incident_id` });
  const hasFailed = sql`status in ('pending', 'abandoned')`;
  const newest = sql`group by created_at, incident_id order by created_at desc, incident_id desc
    limit ${scan.scanLimit ?? scan.limit}`;
  return sql`select incident.id, incident.tenant, incident.store, incident.type, incident.occurred_at,
      failed.created_at
    from (
      select created_at, incident_id from (
        (select created_at, incident_id from deliveries
          ${where([hasFailed, sql`replay_id is null`, ...conditions])} ${newest})
        union all
        (select created_at, incident_id from (
          select i.tenant, i.created_at, d.incident_id from (
            select incident_id from deliveries where ${hasFailed} and replay_id is not null offset 0
          ) as d join incidents i on i.id = d.incident_id
        ) as replayed ${where(conditions)} ${newest})
      ) as either ${newest}
    ) failed cross join lateral (
      select id, tenant, store, type, occurred_at from incidents where id = failed.incident_id limit 1
    ) incident`;
}

function sourceConditions(
  source: IncidentSource,
  { after }: Scan<IncidentKey>,
  { tenant, id }: { tenant: Sql; id: Sql },
): Sql[] {
  const conditions: Sql[] = [];
  if (tenant !== empty) conditions.push(sql`tenant = ${tenant}`);
  conditions.push(...isReportedIn(source));
  if (source.id !== undefined) conditions.push(sql`${id} = ${source.id}`);
  if (source.deliveryId !== undefined) {
    const { lane, id: delivery } = source.deliveryId;
    conditions.push(
      sql`${id} = (select incident_id from deliveries of_it where of_it.lane = ${lane} and of_it.id = ${delivery})`,
    );
  }
  if (after !== null) {
    conditions.push(sql`(created_at, ${id}) < (${after[0]}::timestamptz, ${after[1]})`);
  }
  return conditions;
}

const hasDelivery = (condition: Sql) =>
  sql`(select bool_or(${condition}) from ${deliveriesOf(sql`incidents.id`)} d)`;

function soughtConditions({ store, endpointId, ...sought }: SoughtIncidents): Sql[] {
  const { type, otherId, text } = sought;
  const conditions: Sql[] = [];
  if (type !== undefined) conditions.push(isOfType('type', type));
  if (store !== undefined) conditions.push(sql`store = ${store}`);
  const ofOne = ofDelivery(sought);
  if (endpointId !== undefined) ofOne.push(sql`d.endpoint_id = ${endpointId}`);
  if (ofOne.length > 0) conditions.push(hasDelivery(sql`(${join(ofOne, ' and ')})`));
  if (otherId !== undefined) {
    const isSent = hasDelivery(sql`d.idempotency_key = ${otherId}`);
    conditions.push(anyOf([isReportedAs('incidents.id', otherId), isSent]));
  }
  if (text !== undefined) {
    const places = [isInPayload('incidents.id', text)];
    if (text.isInAnswers) places.push(hasDelivery(isInAnswer(text)));
    conditions.push(anyOf(places));
  }
  return conditions;
}
