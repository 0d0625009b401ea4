import sql, { empty, raw } from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';
import { advisoryLocks } from '../platform/postgres/locks.ts';
import { waitingHeads } from './drainer/queries.ts';
import { allLanes } from './lanes.ts';
import { deliveriesOf, isHeldBack } from './queries.ts';

/** Takes the lock of counting what waits until the transaction ends, if it is free. */
export async function tryLockHoldingBack(connection: Queryable): Promise<boolean> {
  const rows = await connection.query<{ is_locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(${advisoryLocks.holdingBack}) as is_locked`,
  );
  return rows[0]?.is_locked ?? false;
}

export type Backlog = {
  id: string;
  tenant: string;
  rows: number;
  bytes: number;
  is_held_back: boolean;
};

/** A delivery of which the previous release did not note how large it is. */
const guessedBytes = raw('1024');

/** Counts what waits for each endpoint, up to `mostRows` each (0: all), and sums the bytes that rows tell. */
export async function listBacklogs(db: Queryable, mostRows: number): Promise<Backlog[]> {
  const bound = mostRows === 0 ? empty : sql`limit ${mostRows}`;
  return db.query<Backlog>(sql`
    ${waitingHeads(allLanes)}
    select e.id, e.tenant, counted.rows, counted.bytes, ${isHeldBack} as is_held_back
    from heads join webhook_endpoints e on e.id = heads.endpoint_id and e.deleted_at is null
    cross join lateral (
      select count(*) as rows, coalesce(sum(bytes), 0)::float8 as bytes from (
        select coalesce(d.size_bytes, ${guessedBytes}) as bytes from deliveries d
        where d.lane = heads.lane and d.endpoint_id = heads.endpoint_id and d.next_attempt_at is not null ${bound}
      ) waiting
    ) counted`);
}

export async function countEndpointsOf(
  db: Queryable,
  tenants: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ tenant: string; count: number }>(sql`
    select tenant, count(*) as count from webhook_endpoints
    where tenant = any(${tenants}::text[]) and deleted_at is null group by tenant`);
  return new Map(rows.map(({ tenant, count }) => [tenant, count]));
}

export type HeldBackChanges = {
  begun: { endpoint: string; tenant: string }[];
  ended: { endpoint: string; tenant: string }[];
};

/**
 * Marks the endpoints from which incidents are held back from now on; all others get them again. It begins a second before
 * the mark, for reports that were under way; whoever has seen its end asks for a replay of all that was reported before.
 */
export async function markHeldBack(
  db: Queryable,
  full: readonly string[],
): Promise<HeldBackChanges> {
  const rows = await db.query<HeldBackChanges>(sql`
    with full_now as (select unnest(${full}::text[]) collate "C" as id), begun as (
      update webhook_endpoints e set held_back_until = null,
        held_back_from = coalesce(held_back_from, clock_timestamp() - interval '1 second')
      where id in (select id from full_now) and deleted_at is null and (${isHeldBack}) is not true
      returning id as endpoint, tenant
    ), ended as (
      update webhook_endpoints e set held_back_until = clock_timestamp()
      where ${isHeldBack} and id not in (select id from full_now)
      returning id as endpoint, tenant
    )
    select (select coalesce(json_agg(begun), '[]') from begun) as begun,
      (select coalesce(json_agg(ended), '[]') from ended) as ended`);
  return rows[0] ?? { begun: [], ended: [] };
}

/**
 * Forgets what was held back where it is too old for a replay, or replays have sent it. A replay is itself something
 * that waits: when the mark came again because of it, it is forgotten as well; else it begins with the first incident
 * that none has sent. A mark during which nothing was held back, as of a replay that filled the bound by itself, goes
 * without one. `settleSeconds`: a report may take so long, and have read a mark that ended meanwhile.
 */
export async function forgetHeldBack(
  db: Queryable,
  { deliveryDays, settleSeconds }: { deliveryDays: number; settleSeconds: number },
): Promise<void> {
  const settle = sql`make_interval(secs => ${settleSeconds})`;
  // What a replay has sent is looked at once: afterwards the mark is gone, or begins behind it.
  await db.query(sql`
    with sent as materialized (
      select e.id, e.tenant, e.held_back_from, e.held_back_until,
        case when e.held_back_until < now() - make_interval(days => ${deliveryDays}) then 'infinity' else (
          select max(r.reported_until) from replays r
          where r.endpoint_id = e.id and r.state = 'completed' and r.selection in ('missed', 'all')
            and r.incident_id is null and r.event_types is null and r.reported_from <= e.held_back_from
        ) end as sent_until
      from webhook_endpoints e where e.held_back_from is not null and e.held_back_until < now() - ${settle}
    ), rest as materialized (
      select sent.*, (
        select i.created_at from incidents i
        where i.tenant = sent.tenant and i.created_at >= greatest(sent.sent_until, sent.held_back_from)
          and i.created_at < sent.held_back_until + ${settle} and sent.id = any(i.held_back) and i.erased_at is null
        order by i.created_at limit 1
      ) as first_at
      from sent
    )
    update webhook_endpoints e set held_back_from = first_at,
      held_back_until = case when first_at is not null
        then greatest(e.held_back_until, first_at + interval '1 millisecond') end
    from rest where e.id = rest.id and e.held_back_from = rest.held_back_from
      and e.held_back_until = rest.held_back_until
      and (rest.sent_until > rest.held_back_from or rest.first_at is null)`);
}

/** The endpoints from which an incident was held back when it was reported. */
export async function listHeldBack(db: Queryable, id: string): Promise<string[]> {
  const rows = await db.query<{ held_back: string[] }>(
    sql`select coalesce(held_back, '{}') as held_back from incidents where id = ${id}`,
  );
  return rows[0]?.held_back ?? [];
}

/** The endpoints from which these incidents were held back, and that have no delivery of them since. */
export async function listMissing(
  db: Queryable,
  incidentIds: readonly string[],
): Promise<{ id: string; missing: string[] }[]> {
  return db.query(sql`
    select i.id, array_agg(e.id order by e.id) as missing
    from incidents i cross join lateral unnest(i.held_back) as held (id)
    join webhook_endpoints e on e.id = held.id and e.deleted_at is null
    where i.id = any(${incidentIds}::text[]) and not exists (
      select from ${deliveriesOf(sql`i.id`)} d where d.endpoint_id = e.id)
    group by i.id`);
}
