import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ClaimedRow, HeadStart } from '../claim.ts';
import type { AcceptedDelivery } from '../contract.ts';
import { newDeliveryId } from '../lanes.ts';
import { configVersion, hasRunOut } from '../queries.ts';

export type NewIncident = {
  id: string;
  tenant: string;
  store: string | null;
  type: string;
  occurredAt: string;
  body: string;
  /** The request that reported it. */
  requestId: string;
  /** The trace of that request, a `traceparent`; null when no traces are written. */
  traceParent: string | null;
  /** When it was reported, in milliseconds since 1970. */
  reportedAtMillis: number;
  /** The caller's idempotency key; null when there is none. */
  key: { text: string; digest: Buffer } | null;
  /** The only receiver, whatever event types it wants; null means all endpoints that want this type. */
  endpointId: string | null;
};

export type StoredIncident = {
  id: string;
  /** The deliveries, in the order of their endpoints. */
  deliveries: AcceptedDelivery[];
  /** The endpoints to wake: those of the deliveries, without disabled ones, for which deliveries wait. */
  due: string[];
  /** The deliveries that were claimed as they were stored. Their endpoints need no waking. */
  claimed: ClaimedHere[];
  /** By the id of the endpoint, for all that were claimed by the statement; null when none was. */
  config_versions: Record<string, number> | null;
};

/** A delivery that was claimed as it was stored. Everything else of it is that of a new one. */
type ClaimedHere = Pick<
  ClaimedRow,
  'lane' | 'id' | 'endpoint_id' | 'idempotency_key' | 'max_attempts'
>;

/**
 * Stores incidents and a delivery for each of their receivers, in one statement and so in one transaction. An incident
 * whose idempotency key is in use is not stored and not in the result; no two may have the same key. A second statement
 * with the same key waits for the end of the first. `maxAttempts` is for endpoints that have no number of their own.
 *
 * A key that has run out is free again and is taken over. Keys are taken in one order, so that two statements with
 * several never wait for each other in a circle.
 *
 * A delivery does not record that its endpoint is disabled. Whoever claims deliveries looks at the endpoint itself, so
 * a report that races with disabling or enabling leaves no delivery behind in the wrong state.
 *
 * With a head start, the first deliveries of each endpoint are stored as claimed, as many as there is room for, unless
 * the lane has another keeper by now.
 */
export async function insertIncidents(
  db: Queryable,
  incidents: readonly NewIncident[],
  maxAttempts: number,
  headStart: HeadStart | null = null,
): Promise<StoredIncident[]> {
  const texts = (field: (incident: NewIncident) => string | null) =>
    sql`${incidents.map(field)}::text[]`;
  const { rooms, lease } = headStart ?? { rooms: [], lease: { id: null, seconds: 0, keeper: 0 } };
  return db.query<StoredIncident>(sql`
    with reported as materialized (
      select place, id, tenant collate "C" as tenant, store, type, occurred_at, body, request_id, trace_parent, time_text,
        endpoint_id, key collate "C" as key, digest
      from unnest(${texts(({ id }) => id)}, ${texts(({ tenant }) => tenant)}, ${texts(({ store }) => store)},
        ${texts(({ type }) => type)}, ${texts(({ occurredAt }) => occurredAt)}::timestamptz[],
        ${texts(({ body }) => body)}, ${texts(({ requestId }) => requestId)},
        ${texts(({ traceParent }) => traceParent)}, ${texts((one) => timeText(one.reportedAtMillis))},
        ${texts(({ endpointId }) => endpointId)}, ${texts(({ key }) => key?.text ?? null)},
        ${incidents.map(({ key }) => key?.digest ?? null)}::bytea[]
      ) with ordinality as reported(id, tenant, store, type, occurred_at, body, request_id, trace_parent,
        time_text, endpoint_id, key, digest, place)
    ), taken_key as (
      insert into incident_keys (tenant, idempotency_key, incident_id, digest)
      select tenant, key, id, digest from reported where key is not null and not exists (
        select from incident_keys erased where erased.tenant = reported.tenant
          and erased.idempotency_key = ${erasedKey(sql`reported.tenant`, sql`key`)}
      ) order by tenant, key
      on conflict (tenant, idempotency_key) do update
        set incident_id = excluded.incident_id, digest = excluded.digest, created_at = now()
        where ${hasRunOut}
      returning incident_id
    ), incident as (
      insert into incidents (id, tenant, store, type, occurred_at, body, request_id, trace_parent)
      select id, tenant, store, type, occurred_at, body, request_id, trace_parent from reported
      where key is null or id in (select incident_id from taken_key) order by place
      returning id
    ), room as materialized (
      select endpoint_id, count from unnest(
        ${rooms.map((room) => room.lane)}::smallint[], ${rooms.map((room) => room.endpointId)}::text[],
        ${rooms.map((room) => room.count)}::int[]
      ) as given (lane, endpoint_id, count) join lanes using (lane) where lanes.keeper = ${lease.keeper}
    ), receiver as materialized (
      select reported.id as incident_id, reported.type, reported.time_text, e.id, e.tenant, e.lane, e.url, e.enabled,
        e.max_attempts, ${randomText} as random, ${configVersion} as config_version,
        e.enabled and e.paused_until is null
          and row_number() over (partition by e.id order by place) <= room.count as is_claimed
      from reported join webhook_endpoints e
        on e.tenant = reported.tenant and e.deleted_at is null
        and (e.id = reported.endpoint_id
          or reported.endpoint_id is null and e.event_types && array[reported.type, '*'])
      left join room on room.endpoint_id = e.id
    ), delivery as (
      insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key,
        max_attempts, lease, leased_until)
      select lane, 'dlv_' || lpad(lane::text, 2, '0') || time_text || substr(random, 1, 11),
        incident_id, receiver.id, tenant, type, url, 'msg_' || substr(random, 12, 16),
        coalesce(max_attempts, ${maxAttempts}), case when is_claimed then ${lease.id}::bigint end,
        case when is_claimed then now() + make_interval(secs => ${lease.seconds}) end
      from incident join receiver on receiver.incident_id = incident.id
      returning lane, id, incident_id, endpoint_id, idempotency_key, status, max_attempts, lease
    ), made as (
      select incident_id,
        json_agg(json_build_object('id', id, 'endpoint_id', endpoint_id, 'idempotency_key', idempotency_key,
          'status', status) order by endpoint_id) as deliveries,
        json_agg(json_build_object('lane', lane, 'id', id, 'endpoint_id', endpoint_id,
          'idempotency_key', idempotency_key, 'max_attempts', max_attempts)) filter (where lease is not null) as claimed
      from delivery group by incident_id
    ), waiting as (
      select incident_id, array_agg(id) as due from receiver
      where enabled and is_claimed is not true group by incident_id
    )
    select incident.id, coalesce(deliveries, '[]') as deliveries, coalesce(due, '{}') as due,
      coalesce(claimed, '[]') as claimed,
      (select json_object_agg(id, config_version) from receiver where is_claimed) as config_versions
    from incident left join made on made.incident_id = incident.id
    left join waiting on waiting.incident_id = incident.id`);
}

// The lanes are known only to the statement, and asking for them first would cost another round trip. So the statement
// builds ids of the form that lanes.ts makes. 122 random bits spread over 43 characters. Base64's `+` and `/` become
// `A` and `a`, which loses next to nothing of the randomness.
const randomText = sql`translate(encode(sha256(uuid_send(gen_random_uuid())), 'base64'), '+/', 'Aa')`;

/** The part of a delivery's id that tells the time; it is the same in all lanes. */
function timeText(nowMillis: number): string {
  return newDeliveryId(0, nowMillis).slice('dlv_00'.length, 'dlv_00'.length + 7);
}

/**
 * What stands instead of a key whose incident was erased: a hash, after a space, which no key of a caller contains. The
 * hash is another for each tenant.
 */
export function erasedKey(tenant: Sql, key: Sql): Sql {
  return sql`' ' || encode(sha256(convert_to(${tenant} || '/' || ${key}, 'UTF8')), 'hex')`;
}

export const isErasedKey = sql`starts_with(idempotency_key, ' ')`;

/** Finds the incident that a key stands for; undefined when the key is unknown. */
export async function findIncidentKey(
  db: Queryable,
  tenant: string,
  key: string,
): Promise<{ incident_id: string; digest: Buffer } | undefined> {
  const rows = await db.query<{ incident_id: string; digest: Buffer }>(sql`
    select incident_id, digest from incident_keys where tenant = ${tenant}
      and idempotency_key in (${key}, ${erasedKey(sql`${tenant}::text`, sql`${key}::text`)})`);
  return rows[0];
}
