import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import { laneOf } from '../lanes.ts';

/** One after the other: the deliveries of an endpoint that have the same store, or the same group. */
export type OrderKey = { readonly endpointId: string; readonly key: string };

/** When a delivery is due that waits behind another: never, for any release. PostgreSQL 15 cannot subtract infinity. */
export const neverDue = raw(`timestamptz '9999-01-01 00:00:00+00'`);

/** What waits behind another, as the index has it. */
export const isBehind = (delivery: string): Sql =>
  raw(`${delivery}.order_state in ('waits', 'joins') and ${delivery}.status = 'queued'`);

/** What an index has: deliveries for which their key has to be looked at, or else the heads of keys that have failed. */
const isPassing = (d: string) =>
  raw(
    `(${d}.order_state = 'joins' or ${d}.status in ('delivered', 'discarded') or coalesce(${d}.failure_class, '') = 'erased')`,
  );
const isIndexed = (d: string) =>
  raw(`(${d}.order_state = 'joins' or ${d}.order_state = 'head' and ${d}.status <> 'queued')`);

/** The head of a key that has failed. */
export const isStuck = (delivery: string): Sql =>
  sql`not ${isPassing(delivery)} and ${isIndexed(delivery)}`;

/** The store or the group by which the endpoint `e` orders what is reported; null where it has no order. */
export const orderKeyOf = (store: Sql, group: Sql): Sql =>
  sql`case e.ordered when 'store' then ${store} when 'group' then ${group} end`;

/** The microseconds since 1970, after all locks that the statement had to wait for. */
export const numberNow = sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`;

export async function readMicros(db: Queryable): Promise<number> {
  const rows = await db.query<{ micros: number }>(sql`select ${numberNow} as micros`);
  return Number(rows[0]?.micros);
}

/** Whether the head `h` of a key of the endpoint `e` lets the next go. */
const isDone = sql`(h.status in ('delivered', 'discarded')
  or h.status = 'abandoned' and (h.failure_class = 'erased' or e.when_stuck = 'pass'))`;

/** Finds keys to look at, at most so many. Nothing but these is read, however many keys are blocked. */
export async function findPassing(db: Queryable, limit: number): Promise<OrderKey[]> {
  // A plan that is kept may have been made when the table was empty.
  return db.query<OrderKey>(
    sql`
    select distinct endpoint_id as "endpointId", order_key as key from (
      (select endpoint_id, order_key from deliveries d
        where ${isPassing('d')} and ${isIndexed('d')} limit ${limit})
      union all
      (select stuck.endpoint_id, stuck.order_key from webhook_endpoints e cross join lateral (
          select endpoint_id, order_key from deliveries d
          where d.endpoint_id = e.id and ${isStuck('d')} and d.status = 'abandoned'
          limit ${limit}
        ) as stuck
        where e.when_stuck = 'pass' limit ${limit})
    ) as passing`,
    { isPlannedAnew: true },
  );
}

/**
 * Locks these keys until the transaction ends, in one order, and makes those that are missing: reports under them wait.
 */
export async function lockKeys(db: Queryable, keys: readonly OrderKey[]): Promise<void> {
  await db.query(sql`
    insert into order_keys (endpoint_id, key, head, sequence, added)
    select distinct endpoint_id collate "C", key collate "C", '', 0, 0
    from ${givenRows('given', keys, { endpointId: 'text', key: 'text' })} order by 1, 2
    on conflict (endpoint_id, key) do update set head = order_keys.head`);
}

/**
 * Lets the next of each of these keys go whose head has ended. They are locked, by a statement before this one: only so
 * does it see what was reported under them. Returns the endpoints that have something to send then.
 *
 * Rows are changed in their place, because the planner may take any of their indexes for one that holds next to nothing. It
 * waits for nobody. A row that somebody else has locked, to discard it perhaps, leaves its key for the next time.
 */
export async function passOnLocked(db: Queryable, keys: readonly OrderKey[]): Promise<string[]> {
  const placed = keys.map((key) => ({ ...key, lane: laneOf(key.endpointId) }));
  const rows = await db.query<{ endpoint_id: string }>(
    sql`
    with looked as materialized (
      select given.lane, k.endpoint_id, k.key, k.head, coalesce(h.order_state = 'head', false) as is_head,
        coalesce(h.order_state = 'head' and not ${isDone}, false) as is_held
      from ${givenRows('given', placed, { lane: 'smallint', endpointId: 'text', key: 'text' })}
      join order_keys k on k.endpoint_id = given.endpoint_id and k.key = given.key
      join webhook_endpoints e on e.id = k.endpoint_id
      left join deliveries h on h.lane = given.lane and h.id = k.head
    ), free as materialized (
      select looked.*, (
        select d.id from deliveries d
        where d.endpoint_id = looked.endpoint_id and d.order_key = looked.key and ${isBehind('d')}
        order by d.sequence limit 1
      ) as next from looked where not is_held
    ), locked as materialized (
      select d.id, d.ctid as place from free
      join deliveries d on d.lane = free.lane and d.id = any(array[free.head, free.next])
      where d.id = free.head or (${isBehind('d')})
      for update of d skip locked
    ), ready as materialized (
      select free.*, nexts.place as next_place, heads.place as head_place from free
      left join locked nexts on nexts.id = free.next left join locked heads on heads.id = free.head
      where (next is null or nexts.place is not null) and (not is_head or heads.place is not null)
    ), promoted as (
      update deliveries d set order_state = 'head', next_attempt_at = now(), version = d.version + 1
      from ready where d.ctid = ready.next_place
      returning d.id, d.endpoint_id, d.order_key
    ), moved as (
      update order_keys k set head = promoted.id from promoted
      where k.endpoint_id = promoted.endpoint_id and k.key = promoted.order_key
    ), emptied as (
      delete from order_keys k using ready
      where k.endpoint_id = ready.endpoint_id and k.key = ready.key and ready.next is null
    ), passed as (
      update deliveries h set order_state = null from ready where ready.is_head and h.ctid = ready.head_place
    ), joining as materialized (
      select joining.* from (
        select endpoint_id, key from looked where is_held
        union all
        select endpoint_id, key from ready
      ) as settled
      cross join lateral (
        select d.id, d.ctid as place from deliveries d
        where ${isPassing('d')} and ${isIndexed('d')} and d.order_state = 'joins'
          and d.endpoint_id = settled.endpoint_id and d.order_key = settled.key
        for update of d skip locked
      ) as joining
    ), joined as (
      update deliveries d set order_state = case when d.status = 'queued' then 'waits' end
      from joining where d.ctid = joining.place and joining.id not in (select id from promoted)
    )
    select distinct endpoint_id from promoted`,
    { isPlannedAnew: true },
  );
  return rows.map((row) => row.endpoint_id);
}
