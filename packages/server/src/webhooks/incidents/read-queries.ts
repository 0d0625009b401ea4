import sql, { empty, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { AcceptedDelivery, IncidentRow } from '../contract.ts';
import { where } from '../dead-letters/read-queries.ts';
import type { Scan } from '../scan.ts';
import type { DeliveryStatus } from '../values.ts';

const columns = sql`id, tenant, store, type, ${instantText('incidents.occurred_at')} as occurred_at,
  ${instantText('incidents.created_at')} as created_at`;

type IncidentWithBody = IncidentRow & {
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
    select ${columns}, body, coalesce(body_bytes, octet_length(body)) as size_bytes,
      ${instantText('erased_at')} as erased_at, request_id from incidents where id = ${id}
      and (${reach}::text[] is null or tenant = any(${reach}::text[]))`);
  return rows[0];
}

/** Lists the deliveries of an incident, in the order of their endpoints. */
export async function listDeliveriesOfIncident(
  db: Queryable,
  incidentId: string,
): Promise<AcceptedDelivery[]> {
  return db.query<AcceptedDelivery>(sql`
    select id, endpoint_id, idempotency_key, status from deliveries
    where incident_id = ${incidentId} order by endpoint_id, id`);
}

/** Counts the deliveries of these incidents by their status. */
export async function countDeliveries(
  db: Queryable,
  incidentIds: readonly string[],
): Promise<{ incident_id: string; status: DeliveryStatus; count: number }[]> {
  return db.query(sql`
    select incident_id, status, count(*) as count from deliveries
    where incident_id = any(${incidentIds}::text[]) group by incident_id, status`);
}

/** The incidents that a list reads. An index has them in the order of the list. */
export type IncidentSource = {
  /** null means any tenant. */
  tenants: readonly string[] | null;
  /** The days on which they were reported, both ends included. */
  from: string | undefined;
  to: string | undefined;
  /** Whether only those are read of which a delivery is pending or abandoned. */
  hasFailed: boolean;
};

/** Filters that no index serves: the incidents of the source are read and compared. */
export type SoughtIncidents = {
  /** A type, or with a dot at its end all types that begin so. */
  type: string | undefined;
  store: string | undefined;
};

/** An incident's place in the list. */
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

/**
 * The newest incidents of the source. A page is read of each tenant, and the newest rows of these make the page: so it
 * costs the same however rare the tenants' incidents are.
 */
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
 * Incidents of which a delivery failed are found by their dead letters, which are few. A delivery is created in the
 * transaction of its incident and so at the same time. The limit inside makes PostgreSQL look each incident up by its
 * id; it might read all of them otherwise.
 */
function newestFailed(source: IncidentSource, scan: Scan<IncidentKey>, tenant: Sql): Sql {
  const conditions = sourceConditions(source, scan, { tenant, id: sql`incident_id` });
  return sql`select incident.id, incident.tenant, incident.store, incident.type, incident.occurred_at,
      failed.created_at
    from (
      select created_at, incident_id from deliveries
      ${where([sql`status in ('pending', 'abandoned')`, ...conditions])}
      group by created_at, incident_id order by created_at desc, incident_id desc limit ${scan.scanLimit ?? scan.limit}
    ) failed cross join lateral (
      select id, tenant, store, type, occurred_at from incidents where id = failed.incident_id limit 1
    ) incident`;
}

function sourceConditions(
  { from, to }: IncidentSource,
  { after }: Scan<IncidentKey>,
  { tenant, id }: { tenant: Sql; id: Sql },
): Sql[] {
  const conditions: Sql[] = [];
  if (tenant !== empty) conditions.push(sql`tenant = ${tenant}`);
  if (from !== undefined) {
    conditions.push(sql`created_at >= ${`${from}T00:00:00Z`}::timestamptz`);
  }
  if (to !== undefined) {
    conditions.push(sql`created_at < ${`${to}T00:00:00Z`}::timestamptz + interval '1 day'`);
  }
  if (after !== null) {
    conditions.push(sql`(created_at, ${id}) < (${after[0]}::timestamptz, ${after[1]})`);
  }
  return conditions;
}

function soughtConditions({ type, store }: SoughtIncidents): Sql[] {
  const conditions: Sql[] = [];
  if (type !== undefined) {
    conditions.push(type.endsWith('.') ? sql`starts_with(type, ${type})` : sql`type = ${type}`);
  }
  if (store !== undefined) conditions.push(sql`store = ${store}`);
  return conditions;
}
