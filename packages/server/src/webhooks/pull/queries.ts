import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Patience, patienceOf } from '../dead-letters/queries.ts';
import type { Reach } from '../endpoints/queries.ts';
import { laneOf } from '../lanes.ts';
import { neverDue, numberNow } from '../order/queries.ts';
import { configVersion, countedByHour, isPolled } from '../queries.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';

type PolledEndpoint = {
  is_polled: boolean;
  enabled: boolean;
  config_version: number;
  patience: Patience;
};

/** The endpoint with this id, unless it is deleted or out of reach. */
export async function findPolled(
  db: Queryable,
  id: string,
  { reach, days }: { reach: Reach; days: number },
): Promise<PolledEndpoint | undefined> {
  const rows = await db.query<PolledEndpoint>(sql`
    select ${isPolled} as is_polled, enabled, ${configVersion} as config_version,
      ${patienceOf(days)} as patience
    from webhook_endpoints e where id = ${id} and deleted_at is null
      and (${reach}::text[] is null or tenant = any(${reach}::text[]))`);
  return rows[0];
}

/** Locks the place of an endpoint's receiver until the end of the transaction, and notes that it has polled, and by whom. */
export async function lockPlace(db: Queryable, endpointId: string, by: string): Promise<void> {
  await db.query(sql`
    insert into pull_places (endpoint_id, position, polled_by) values (${endpointId}, 0, ${by})
    on conflict (endpoint_id) do update set polled_at = now(), polled_by = excluded.polled_by`);
}

/**
 * Acknowledges what was handed out up to this number, unless it has ended. Returns what it was. The place is locked.
 */
export async function acknowledge(
  db: Queryable,
  endpointId: string,
  until: string,
): Promise<{ tenant: string; status: DeliveryStatus; failure_class: FailureClass | null }[]> {
  const millis = sql`least(extract(epoch from now() - handed_out_at) * 1000, 2147483647)::int`;
  return db.query(sql`
    with gone as (
      delete from pulled_deliveries where endpoint_id = ${endpointId} and position <= ${until}::bigint
      returning lane, delivery_id, handed_out_at
    ), was as materialized (
      select d.lane, d.id, d.tenant, d.status, d.failure_class, gone.handed_out_at
      from gone join deliveries d on d.lane = gone.lane and d.id = gone.delivery_id
      where d.status in ('queued', 'pending') order by d.lane, d.id for update of d
    ), changed as (
      update deliveries d set status = 'delivered', version = d.version + 1, attempts = d.attempts + 1,
        max_attempts = greatest(d.max_attempts, d.attempts + 1), next_attempt_at = null, held_by = null, is_probe = false, lease = null, leased_until = null,
        failure_class = null, error = null, last_attempt_at = now(), finished_at = now()
      from was where d.lane = was.lane and d.id = was.id
      returning d.id, d.lane, d.endpoint_id, d.status, d.attempts, d.target, was.handed_out_at,
        ${millis} as answer_millis, 0 as ended_millis_ago
    ), logged as (
      insert into delivery_attempts (lane, delivery_id, number, started_at, duration_ms, target)
      select lane, id, attempts, handed_out_at, answer_millis, target from changed
      on conflict (lane, delivery_id, number) do nothing
    ), ${countedByHour({ areAttempts: true })}
    select tenant, status, failure_class from was`);
}

/** A delivery that was handed out, as it is sent. */
type HandedOut = {
  position: string;
  id: string;
  idempotency_key: string;
  replay_of: string | null;
  sequence: number | null;
  body: string;
  /** How many were listed, with those that did not fit into the answer, up to `limit`. */
  numbered: number;
};

/** So many bytes of payloads one answer has, unless its first is larger. */
export const mostBytes = 4 * 1024 * 1024;

/** Lists what was handed out after this number and still waits, in order, as much as fits into one answer. */
export async function listHandedOut(
  db: Queryable,
  endpointId: string,
  { after, limit }: { after: string; limit: number },
): Promise<HandedOut[]> {
  return db.query<HandedOut>(sql`
    select position::text, id, idempotency_key, replay_of, sequence, body, numbered from (
      select position, id, idempotency_key, replay_of, sequence, body, count(*) over () as numbered,
        row_number() over in_order as place, sum(octet_length(body)) over in_order as bytes
      from (
        select p.position, d.id, d.idempotency_key, d.replay_of, d.sequence, i.body
        from pulled_deliveries p
        join deliveries d on d.lane = p.lane and d.id = p.delivery_id
        join incidents i on i.id = d.incident_id
        where p.endpoint_id = ${endpointId} and p.position > ${after}::bigint
          and d.status in ('queued', 'pending')
        order by p.position limit ${limit}
      ) as handed_out window in_order as (order by position)
    ) as measured where place = 1 or bytes <= ${mostBytes}::int order by place`);
}

/**
 * Hands out what has waited longest, each under the next number: as many as fit into `bytes`, or one larger where
 * `takesLarge`. The place is locked, so numbers grow as they are seen.
 */
export async function handOut(
  db: Queryable,
  id: string,
  { limit, bytes, takesLarge }: { limit: number; bytes: number; takesLarge: boolean },
): Promise<void> {
  await db.query(
    sql`
    with waiting as materialized (
      select lane, id, place from (
        select lane, oldest.id, row_number() over in_order as place, sum(octet_length(i.body)) over in_order as bytes
        from (
          select d.lane, d.id, d.incident_id, d.next_attempt_at, d.sequence from deliveries d
          where d.lane = ${laneOf(id)} and d.endpoint_id = ${id} and d.next_attempt_at < ${neverDue}
            and not exists (select from pulled_deliveries p where p.delivery_id = d.id)
          order by d.next_attempt_at, d.sequence limit ${raw(String(Math.trunc(limit)))}
        ) as oldest join incidents i on i.id = oldest.incident_id
        window in_order as (order by next_attempt_at, sequence)
      ) as measured where bytes <= ${bytes}::int or place = 1 and ${takesLarge}
    ), moved as (
      update pull_places set position = greatest(position, ${numberNow}) + (select count(*) from waiting)
      where endpoint_id = ${id} and exists (select from waiting) returning position
    )
    insert into pulled_deliveries (endpoint_id, position, lane, delivery_id)
    select ${id}, moved.position - (select count(*) from waiting) + waiting.place, waiting.lane, waiting.id
    from waiting cross join moved`,
    { isPlannedAnew: true },
  );
}

export async function hasWaiting(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query(sql`
    select from deliveries where lane = ${laneOf(id)} and endpoint_id = ${id} and next_attempt_at < ${neverDue} limit 1`);
  return rows.length > 0;
}
