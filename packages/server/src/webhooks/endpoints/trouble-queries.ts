import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { WebhooksOverview } from '../contract.ts';
import { isBehind, isStuck } from '../order/queries.ts';
import { isUnpolled, unpolledSince } from '../queries.ts';
import type { EndpointTrouble } from '../values.ts';
import { columns, type EndpointRow, health, type Reach, unsteadyIds } from './queries.ts';

/** Endpoints that may fail or are gone. It is written as the condition of the index that has only these. */
const isTroubled = sql`deleted_at is null
  and (paused_until is not null or failures_in_row > 0 or disabled_reason = 'gone')`;

/** Endpoints that an operator has disabled, and for which deliveries wait: it is easily forgotten. */
const isHeld = sql`deleted_at is null and disabled_reason = 'operator' and exists (
  select from deliveries d where d.lane = webhook_endpoints.lane and d.endpoint_id = webhook_endpoints.id
    and d.next_attempt_at is not null)`;

/** Endpoints from which incidents are held back, or were and nobody has replayed them. */
const wasHeldBack = sql`deleted_at is null and held_back_from is not null`;

/** When the first of its own certificates ends, as text; null where it has none. It is written as in its index. */
const certificateEnd = sql`least(delivery #>> '{tls,certificate,expires_at}', delivery #>> '{tls,ca,expires_at}') collate "C"`;
const certificateEnds = sql`(${certificateEnd})::timestamptz`;
const certificateEndsSoon = sql`deleted_at is null
  and ${certificateEnd} <= ${instantText(`(now() + interval '30 days')`)} collate "C"`;

/** The health of endpoints that need somebody, found without a look at all others. */
const troubled = (reach: Reach) => sql`(
  select id, enabled, failures_in_row, health, is_held from (
    select id, enabled, disabled_reason, failures_in_row, ${health} as health, ${isHeld} as is_held
    from webhook_endpoints
    where ((${isTroubled}) or (${isHeld}) or (deleted_at is null and id = any(${unsteadyIds})))
      and (${reach}::text[] is null or tenant = any(${reach}::text[]))
  ) as looked_at
  where health in ('failing', 'degraded', 'gone') or is_held
    or (health = 'disabled' and disabled_reason = 'failing')
) as troubled`;

type TroubledCounts = Pick<
  WebhooksOverview,
  'failing' | 'degraded' | 'gone' | 'disabled' | 'held' | 'full' | 'certificate'
>;

/**
 * How many endpoints fare ill, each counted once by its health; and of all, from how many incidents were held back, and of
 * how many a certificate ends.
 */
export async function countTroubled(db: Queryable, reach: Reach): Promise<TroubledCounts> {
  const rows = await db.query<TroubledCounts>(sql`
    select count(*) filter (where health = 'failing')::int as failing,
      count(*) filter (where health = 'degraded')::int as degraded,
      count(*) filter (where health = 'gone')::int as gone,
      count(*) filter (where health = 'disabled' and not is_held)::int as disabled,
      count(*) filter (where is_held)::int as held, (
        select count(*) from webhook_endpoints
        where ${wasHeldBack} and (${reach}::text[] is null or tenant = any(${reach}::text[]))
      )::int as full, (
        select count(*) from webhook_endpoints
        where ${certificateEndsSoon} and (${reach}::text[] is null or tenant = any(${reach}::text[]))
      )::int as certificate
    from ${troubled(reach)}`);
  return (
    rows[0] ?? { failing: 0, degraded: 0, gone: 0, disabled: 0, held: 0, full: 0, certificate: 0 }
  );
}

/** Lists these endpoints: first those that are paused, then those that are disabled, then by failures in a row. */
export async function listTroubled(
  db: Queryable,
  reach: Reach,
  limit: number,
): Promise<EndpointRow[]> {
  const order = (failures: Sql) => sql`health = 'failing' desc, enabled, ${failures} desc, id`;
  return db.query<EndpointRow>(sql`
    select * from (
      select ${columns} from webhook_endpoints
      where webhook_endpoints.id in (select id from ${troubled(reach)} order by ${order(sql`failures_in_row`)}
        limit ${limit})
    ) as shown order by ${order(sql`(breaker ->> 'failures_in_row')::int`)}`);
}

/**
 * An endpoint of which somebody is told. After `until` it is disabled, or a certificate has ended; else that is null.
 */
type FailingEndpoint = {
  id: string;
  tenant: string;
  url: string;
  state: EndpointTrouble;
  since: string;
  until: string | null;
  /** The first of the keys that are blocked; null for all other states. */
  key: string | null;
};

/** So many are told of; whoever has more has one reason for all of them. */
const mostFailing = 1000;

/** Without an attempt for a day, nobody knows whether an endpoint still fails: it must not be disabled for that. */
const failedLately = sql`exists (
  select from endpoint_hours h where h.lane = webhook_endpoints.lane and h.endpoint_id = webhook_endpoints.id
    and h.hour > now() - interval '1 day' and h.failed + h.abandoned > 0
)`;
const isFailingSince = sql`enabled and failures_in_row > 0 and failing_since is not null`;
/** So many keys of an endpoint are looked at that are blocked by an abandoned delivery. */
const mostKeys = raw('100');
/** The ordered endpoints where deliveries wait behind one that was abandoned an hour ago, each with the first such key. */
const blockedForLong = sql`
  select e.id, e.tenant, e.url, head.order_key as key, head.finished_at as since
  from webhook_endpoints e cross join lateral (
    select stuck.order_key, stuck.finished_at from (
      select h.endpoint_id, h.order_key, h.finished_at from deliveries h
      where h.endpoint_id = e.id and ${isStuck('h')} and h.status = 'abandoned'
      order by h.order_key limit ${mostKeys}
    ) as stuck
    where stuck.finished_at <= now() - interval '1 hour' and exists (
      select from deliveries d
      where d.endpoint_id = stuck.endpoint_id and d.order_key = stuck.order_key and ${isBehind('d')})
    limit 1
  ) as head
  where e.deleted_at is null and e.enabled and e.ordered is not null and e.when_stuck = 'block'`;
const disabledFrom = sql`failing_since + make_interval(days => disable_after_days)`;

/**
 * Lists those that had no success for an hour; that will be disabled for that within a day; that are gone, or disabled
 * since they failed for long; that an operator has disabled while deliveries wait; from which incidents were held back;
 * of which a certificate ends within 30 days; that nobody has polled for an hour; and where deliveries wait behind one
 * that was abandoned an hour ago.
 */
export async function listFailing(db: Queryable): Promise<FailingEndpoint[]> {
  return db.query<FailingEndpoint>(sql`
    with blocked as materialized (${blockedForLong})
    select id, tenant, url, state, ${instantText('since')} as since, ${instantText('until')} as until,
      case state when 'blocked' then (select key from blocked where blocked.id = told.id) end as key
    from (
      select id, tenant, url, since, null::timestamptz as until, 'blocked' as state from blocked
      union all
      select id, tenant, url, failing_since, null, 'failing'
      from webhook_endpoints
      where ${isTroubled} and ${isFailingSince} and failing_since <= now() - interval '1 hour'
      union all
      select id, tenant, url, disabled_at, null,
        case disabled_reason when 'gone' then 'gone' else 'disabled' end
      from webhook_endpoints
      where ${isTroubled} and not enabled and disabled_reason in ('gone', 'failing')
      union all
      select id, tenant, url, disabled_at, null, 'held' from webhook_endpoints where ${isHeld}
      union all
      select id, tenant, url, held_back_from, held_back_until, 'full' from webhook_endpoints where ${wasHeldBack}
      union all
      select id, tenant, url, failing_since, ${disabledFrom}, 'disabling' from webhook_endpoints
      where ${isTroubled} and ${isFailingSince} and ${disabledFrom} - interval '1 day' <= now()
        and ${failedLately}
      union all
      select id, tenant, url, ${certificateEnds} - interval '30 days', ${certificateEnds}, 'certificate'
      from webhook_endpoints
      where ${certificateEndsSoon}
      union all
      select id, tenant, url, ${unpolledSince}, null, 'unpolled' from webhook_endpoints
      where deleted_at is null and enabled and ${isUnpolled}
    ) as told order by id, state limit ${raw(String(mostFailing))}`);
}

/** Disables those of these endpoints that have failed for as long as their settings say, and returns them. */
export async function disableFailing(
  db: Queryable,
  ids: readonly string[],
): Promise<EndpointRow[]> {
  if (ids.length === 0) return [];
  return db.query<EndpointRow>(sql`
    update webhook_endpoints set enabled = false, disabled_reason = 'failing', disabled_at = now(),
      disabled_by = null, updated_at = now()
    where webhook_endpoints.id = any(${ids}::text[]) and ${isTroubled} and ${isFailingSince}
      and ${disabledFrom} <= now() and ${failedLately}
    returning ${columns}`);
}
