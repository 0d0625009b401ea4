import sql, { empty, type Sql } from 'sql-template-tag';
import type { TokenCheck } from '../../kernel/actor.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import { tokensStand } from '../../platform/postgres/token-check.ts';
import type { ClaimedRow, HeadStart } from '../claim.ts';
import type { AcceptedDelivery } from '../contract.ts';
import { timeText } from '../lanes.ts';
import { newDeliveryId, orderedParts } from '../order/insert-queries.ts';
import { configVersion, hasRunOut, isHeldBack, isPolled, wantsTypeAndStore } from '../queries.ts';
import { type Judgement, wantsOf } from '../subscription.ts';

export type NewIncident = {
  id: string;
  tenant: string;
  store: string | null;
  /** What its reporter says belongs together; null: nothing. */
  group: string | null;
  type: string;
  occurredAt: string;
  body: string;
  requestId: string;
  /** The trace of that request, a `traceparent`; null when no traces are written. */
  traceParent: string | null;
  /** When it was reported, in milliseconds since 1970. */
  reportedAtMillis: number;
  /** The caller's idempotency key; null when there is none. */
  key: { text: string; digest: Buffer } | null;
  /** The only receiver, whatever event types it wants; null means all endpoints that want this type. */
  endpointId: string | null;
  /** What the filters of its tenant say; null where none is known. */
  judgement: Judgement | null;
  /** What the statement checks of the reporter's token before it stores anything. */
  check?: TokenCheck;
};

export type StoredIncident = {
  id: string;
  /** Whether nothing was stored of it, because an endpoint has a filter that was not applied. */
  is_unjudged: boolean;
  deliveries: AcceptedDelivery[];
  /** The endpoints from which it is held back, because too much waits already. */
  held_back: string[];
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
  'lane' | 'id' | 'endpoint_id' | 'idempotency_key' | 'max_attempts' | 'sequence'
>;

/**
 * Stores incidents and a delivery for each of their receivers, in one statement and so in one transaction. An incident
 * whose idempotency key is in use is not in the result; no two may have the same. A second statement with the same key
 * waits for the first, and one that has run out is taken over. Keys are taken in one order, so nobody waits in a
 * circle. `maxAttempts` is for endpoints without a number of their own.
 *
 * Whether an endpoint is disabled, whoever claims looks at itself, so a race with that leaves no delivery in the wrong
 * state.
 *
 * An incident is not stored either when a receiver has a filter of which its judgement does not tell, because it was
 * saved since; nor are the others of its tenant, which would go before it. It is noted as held back from an endpoint for
 * which too much waits, unless that is the only receiver, and a replay sends it.
 *
 * With a head start, the first deliveries of each endpoint are stored as claimed, as many as there is room for, unless
 * the lane has another keeper.
 */
export async function insertIncidents(
  db: Queryable,
  incidents: readonly NewIncident[],
  maxAttempts: number,
  headStart: HeadStart | null = null,
): Promise<StoredIncident[]> {
  const order = orderedParts(incidents.some(({ judgement }) => judgement?.hasOrder));
  const keys = incidents.some(({ key }) => key !== null) ? withKeys : withoutKeys;
  const claims = headStart === null ? unclaimed : claimsOf(headStart);
  return db.query<StoredIncident>(sql`
    with ${receiversOf(incidents, order)}, ${keys.taken} incident as (
      insert into incidents (id, tenant, store, order_group, type, occurred_at, body, request_id, trace_parent, filtered_out,
        held_back)
      select id, tenant, store, order_group, type, occurred_at, body, request_id, trace_parent, filtered_out, held_back
      from reported left join (
        select incident_id, array_agg(id order by id) filter (where not passes) as filtered_out,
          array_agg(id order by id) filter (where passes) as held_back
        from candidate where not passes or is_held_back group by incident_id
      ) kept on kept.incident_id = reported.id
      where ${keys.isTaken} and ${isJudged}
      order by place
      returning id, held_back
    ), ${claims.room} receiver as materialized (
      select incident_id, type, size_bytes, time_text, id, tenant, lane, url, enabled, max_attempts, ${randomText} as random,
        config_version, ${claims.isClaimed} ${order.mayClaim} as is_claimed ${order.ofReceiver}
      from candidate ${claims.joined}
      where passes and not is_held_back
    ), ${order.keyed} delivery as (
      insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key,
        max_attempts, size_bytes, lease, leased_until ${order.columns})
      select lane, ${newDeliveryId}, incident_id, receiver.id, tenant, type, url, 'msg_' || substr(random, 12, 16),
        coalesce(max_attempts, ${maxAttempts}), size_bytes, ${claims.lease} ${order.values}
      from incident join receiver on receiver.incident_id = incident.id ${order.joined}
      returning lane, id, incident_id, endpoint_id, idempotency_key, status, max_attempts, lease, sequence
    ), made as (
      select incident_id,
        json_agg(json_build_object('id', id, 'endpoint_id', endpoint_id, 'idempotency_key', idempotency_key,
          'status', status) order by endpoint_id) as deliveries,
        json_agg(json_build_object('lane', lane, 'id', id, 'endpoint_id', endpoint_id,
          'idempotency_key', idempotency_key, 'max_attempts', max_attempts, 'sequence', sequence)) filter (where lease is not null) as claimed
      from delivery group by incident_id
    ), waiting as (
      select incident_id, array_agg(id) as due from receiver
      where enabled and is_claimed is not true group by incident_id
    )
    select incident.id, false as is_unjudged, coalesce(deliveries, '[]') as deliveries,
      coalesce(held_back, '{}') as held_back, coalesce(due, '{}') as due,
      coalesce(claimed, '[]') as claimed,
      (select json_object_agg(id, config_version) from receiver where is_claimed) as config_versions
    from incident left join made on made.incident_id = incident.id
    left join waiting on waiting.incident_id = incident.id
    union all
    select incident_id, true, '[]', '{}', '{}', '[]', null from unjudged`);
}

const isJudged = sql`tenant not in (select tenant from unjudged)`;

/**
 * Most reports have no idempotency key, and a process without a drainer claims nothing. To look for keys and for room all
 * the same took a fifth of the statement's time for one incident.
 */
const withoutKeys = { taken: empty, isTaken: sql`true` };
const withKeys = {
  taken: sql`taken_key as (
      insert into incident_keys (tenant, idempotency_key, incident_id, digest)
      select tenant, key, id, digest from reported where key is not null and not exists (
        select from incident_keys erased where erased.tenant = reported.tenant
          and erased.idempotency_key = ${erasedKey(sql`reported.tenant`, sql`key`)}
      ) and ${isJudged} order by tenant, key
      on conflict (tenant, idempotency_key) do update
        set incident_id = excluded.incident_id, digest = excluded.digest, created_at = now()
        where ${hasRunOut}
      returning incident_id
    ), `,
  isTaken: sql`(key is null or id in (select incident_id from taken_key))`,
};

const unclaimed = {
  room: empty,
  joined: empty,
  isClaimed: sql`false`,
  lease: sql`null::bigint, null::timestamptz`,
};

/** The room is that of lanes which still have the keeper that offers it. */
const claimsOf = ({ rooms, lease }: HeadStart): typeof unclaimed => ({
  room: sql`room as materialized (
      select endpoint_id, count
      from ${givenRows('given', rooms, { lane: 'smallint', endpointId: 'text', count: 'int' })}
      join lanes using (lane) where lanes.keeper = ${lease.keeper}
    ), `,
  joined: sql`left join room on room.endpoint_id = candidate.id`,
  isClaimed: sql`enabled and paused_until is null
          and row_number() over (partition by id order by place) <= room.count`,
  lease: sql`case when is_claimed then ${lease.id}::bigint end,
        case when is_claimed then now() + make_interval(secs => ${lease.seconds}) end`,
});

/**
 * The CTEs `reported`; `candidate`, the endpoints that want each incident by type and store, and whether their filters let
 * it pass; and `unjudged`, the incidents of which that is not known, or which the statement could not store in order.
 */
function receiversOf(
  incidents: readonly NewIncident[],
  order: ReturnType<typeof orderedParts>,
): Sql {
  const texts = (field: (incident: NewIncident) => string | null) =>
    sql`${incidents.map(field)}::text[]`;
  const lists = [...new Set(incidents.flatMap(({ judgement }) => judgement?.places ?? []))];
  const judged = lists.map((places, list) => ({ list, places }));
  const isFree = sql`e.filter_key is null or reported.endpoint_id is not null`;
  // Most tenants have no filters, and their statement has no join more.
  // The places are looked up in an object and not joined, whatever PostgreSQL expects of how many filters there are.
  const [passes, joined] =
    judged.length === 0
      ? [sql`case when ${isFree} then true end`, empty]
      : [
          sql`${isFree} or case get_byte(reported.verdicts, (judged.places ->> e.filter_key::text)::int)
            when 1 then true when 0 then false end`,
          sql`left join ${givenRows('judged', judged, { list: 'int', places: 'jsonb' })}
            on judged.list = reported.list`,
        ];
  return sql`reported as materialized (
      select place, id, tenant collate "C" as tenant, store, order_group, type, string_to_array(wants, ' ') as wants,
        occurred_at, body, request_id, trace_parent, time_text, endpoint_id, key collate "C" as key, digest, list, verdicts
      from unnest(${texts(({ id }) => id)}, ${texts(({ tenant }) => tenant)}, ${texts(({ store }) => store)},
        ${texts(({ group }) => group)}, ${texts(({ type }) => type)}, ${texts(({ occurredAt }) => occurredAt)}::timestamptz[],
        ${texts(({ body }) => body)}, ${texts(({ requestId }) => requestId)},
        ${texts(({ traceParent }) => traceParent)}, ${texts((one) => timeText(one.reportedAtMillis))},
        ${texts(({ endpointId }) => endpointId)}, ${texts(({ key }) => key?.text ?? null)},
        ${incidents.map(({ key }) => key?.digest ?? null)}::bytea[], ${texts((one) => wantsOf(one.type).join(' '))},
        ${incidents.map(({ judgement }) => lists.indexOf(judgement?.places ?? ''))}::int[],
        ${incidents.map(({ judgement }) => judgement?.verdicts ?? null)}::bytea[]
      ) with ordinality as reported(id, tenant, store, order_group, type, occurred_at, body, request_id, trace_parent,
        time_text, endpoint_id, key, digest, wants, list, verdicts, place)
      where ${tokensStand(incidents.map(({ check }) => check))}
    ), candidate as materialized (
      select reported.id as incident_id, reported.place, reported.type, octet_length(reported.body) as size_bytes, time_text, e.id, e.tenant, e.lane, e.url,
        e.enabled and not ${isPolled} as enabled, e.paused_until, e.max_attempts, ${configVersion} as config_version,
        case when ${order.isKnown} then ${passes} end as passes,
        reported.endpoint_id is null and ${isHeldBack} as is_held_back ${order.ofCandidate}
      from reported join webhook_endpoints e
        on e.tenant = reported.tenant and e.deleted_at is null
        and (e.id = reported.endpoint_id
          or reported.endpoint_id is null
            and ${wantsTypeAndStore({ wants: sql`reported.wants`, store: sql`reported.store` })})
      ${joined}
    ), unjudged as materialized (
      select distinct incident_id, tenant from candidate where passes is null
    )`;
}

// The lanes are known only to the statement, and asking for them first would cost another round trip. So the statement
// builds ids of the form that lanes.ts reads. 122 random bits spread over 43 characters. Base64's `+` and `/` become
// `A` and `a`, which loses next to nothing of the randomness.
export const randomText = sql`translate(encode(sha256(uuid_send(gen_random_uuid())), 'base64'), '+/', 'Aa')`;

/** What stands instead of the key of an erased incident: a hash of tenant and key, after a space, which no key has. */
export function erasedKey(tenant: Sql, key: Sql): Sql {
  return sql`' ' || encode(sha256(convert_to(${tenant} || '/' || ${key}, 'UTF8')), 'hex')`;
}

export const isErasedKey = sql`starts_with(idempotency_key, ' ')`;

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
