import sql, { empty, raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { BlockedKey } from '../contract.ts';
import { laneOf } from '../lanes.ts';
import { isBehind, isStuck, type OrderKey } from '../order/queries.ts';
import type { DeadLetterStatus, FailureClass } from '../values.ts';

const mostCounted = raw('1000');
/** So many keys are looked at for those behind which something waits. */
const mostLooked = raw('1000');

const isSomethingBehind = sql`where exists (
  select from deliveries d where d.endpoint_id = h.endpoint_id and d.order_key = h.order_key and ${isBehind('d')})`;

/**
 * Lists the keys of an endpoint whose first delivery has failed, in their order, beginning after `after`. `isAwaited`: only
 * those behind which something waits.
 */
export async function listBlocked(
  db: Queryable,
  endpointId: string,
  { after, limit, isAwaited = false }: { after: string | null; limit: number; isAwaited?: boolean },
): Promise<BlockedKey[]> {
  return db.query<BlockedKey>(sql`
    select h.order_key as key, h.id as delivery_id, h.status, h.attempts, h.max_attempts,
      ${instantText('h.next_attempt_at')} as next_retry, h.failure_class, h.error,
      ${instantText(`coalesce((select min(a.started_at) from delivery_attempts a where a.lane = h.lane
        and a.delivery_id = h.id), h.created_at)`)} as since,
      (select json_build_object('count', count(*), 'is_exact', count(*) < ${mostCounted}) from (
        select from deliveries d where d.endpoint_id = h.endpoint_id and d.order_key = h.order_key and ${isBehind('d')}
        limit ${mostCounted}
      ) as behind) as waiting
    from (
      select h.lane, h.id, h.endpoint_id, h.order_key, h.status, h.attempts, h.max_attempts, h.next_attempt_at,
        h.failure_class, h.error, h.created_at
      from deliveries h where h.endpoint_id = ${endpointId} and ${isStuck('h')} and h.order_key > ${after ?? ''}
      order by h.order_key limit ${isAwaited ? mostLooked : limit}
    ) as h ${isAwaited ? isSomethingBehind : empty} order by h.order_key limit ${limit}`);
}

type Skipped = {
  id: string;
  tenant: string;
  status: DeadLetterStatus;
  failure_class: FailureClass | null;
};

/** Abandons the first delivery of a key that has failed; undefined where it has not, or an attempt is under way. */
export async function skipHead(
  db: Queryable,
  { endpointId, key }: OrderKey,
): Promise<Skipped | undefined> {
  const rows = await db.query<Skipped>(sql`
    with was as materialized (
      select lane, id, tenant, status, failure_class from deliveries h
      where h.endpoint_id = ${endpointId} and h.order_key = ${key} and ${isStuck('h')}
        and coalesce(leased_until < now(), true)
      for update
    )
    update deliveries d set status = 'abandoned', version = d.version + 1, max_attempts = d.attempts,
      next_attempt_at = null, held_by = null, is_probe = false, lease = null, leased_until = null,
      finished_at = coalesce(d.finished_at, now()), order_state = 'joins'
    from was where d.lane = was.lane and d.id = was.id
    returning d.id, d.tenant, was.status, was.failure_class`);
  return rows[0];
}

/** The delivery that goes first of a key; null: nothing waits there. */
export async function findHead(
  db: Queryable,
  { endpointId, key }: OrderKey,
): Promise<string | null> {
  const rows = await db.query<{ id: string }>(sql`
    select h.id from order_keys k join deliveries h on h.lane = ${laneOf(endpointId)} and h.id = k.head
    where k.endpoint_id = ${endpointId} and k.key = ${key} and h.order_state = 'head'`);
  return rows[0]?.id ?? null;
}
