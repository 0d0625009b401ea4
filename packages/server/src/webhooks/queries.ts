import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';

/** Where a walk along (created_at, id) has arrived. */
export type WalkPosition = { at: string; id: string };

type Step = { seen: number; at: string | null; id: string | null };

/**
 * Looks at the next `limit` deliveries that were made more than `days` days ago, and deletes those that ended more than
 * `days` days ago, with their attempts. Abandoned deliveries stay until they are purged. A delivery also stays as long
 * as its incident's idempotency key counts, since the answer to that key lists it. Returns where to go on, or null at
 * the end.
 */
export async function forgetDeliveries(
  db: Queryable,
  days: number,
  after: WalkPosition | null,
  limit: number,
): Promise<WalkPosition | null> {
  const rows = await db.query<Step>(sql`
    with walked as materialized (
      select lane, id, incident_id, created_at from deliveries
      where created_at < now() - make_interval(days => ${days})
        and (created_at, id) > (${after?.at ?? '-infinity'}::timestamptz, ${after?.id ?? ''})
      order by created_at, id limit ${limit}
    ), ended as (
      delete from deliveries d using walked w
      where d.lane = w.lane and d.id = w.id and d.status in ('delivered', 'discarded')
        and d.finished_at < now() - make_interval(days => ${days})
        and not exists (
          select from incident_keys k
          where k.incident_id = w.incident_id and k.created_at > now() - interval '30 days'
        )
      returning d.lane, d.id
    ), forgotten as (
      delete from delivery_attempts a using ended where a.lane = ended.lane and a.delivery_id = ended.id
    ), last as (select created_at, id from walked order by created_at desc, id desc limit 1)
    select (select count(*) from walked) as seen, ${instantText('last.created_at')} as at, last.id
    from last`);
  return positionOf(rows[0], limit);
}

/** Does the same with incidents that have no delivery left. */
export async function forgetIncidents(
  db: Queryable,
  days: number,
  after: WalkPosition | null,
  limit: number,
): Promise<WalkPosition | null> {
  const rows = await db.query<Step>(sql`
    with walked as materialized (
      select id, created_at from incidents
      where created_at < now() - make_interval(days => ${days})
        and (created_at, id) > (${after?.at ?? '-infinity'}::timestamptz, ${after?.id ?? ''})
      order by created_at, id limit ${limit}
    ), forgotten as (
      delete from incidents i using walked w
      where i.id = w.id and not exists (select from deliveries d where d.incident_id = i.id)
    ), last as (select created_at, id from walked order by created_at desc, id desc limit 1)
    select (select count(*) from walked) as seen, ${instantText('last.created_at')} as at, last.id
    from last`);
  return positionOf(rows[0], limit);
}

/** Deletes the idempotency keys that have run out, and so are free again. */
export async function forgetKeys(db: Queryable): Promise<void> {
  await db.query(sql`delete from incident_keys where created_at < now() - interval '30 days'`);
}

/**
 * Deletes bulk retries and purges that ended more than `days` days ago. One statement is enough, because operators make
 * few of them.
 */
export async function forgetJobs(db: Queryable, days: number): Promise<void> {
  await db.query(sql`
    delete from dead_letter_jobs where state in ('completed', 'cancelled')
      and finished_at < now() - make_interval(days => ${days})`);
}

function positionOf(step: Step | undefined, limit: number): WalkPosition | null {
  if (step === undefined || step.seen < limit || step.at === null || step.id === null) return null;
  return { at: step.at, id: step.id };
}

/** The notification channel of wake-ups. The payload is endpoint ids separated by spaces, or `*` for all. */
export const dueChannel = 'svcctl_due';

export async function notifyDue(db: Queryable, endpointIds: string): Promise<void> {
  await db.query(sql`select pg_notify(${dueChannel}, ${endpointIds})`);
}

export async function listenForDue(db: Queryable): Promise<void> {
  await db.query(sql`listen ${raw(dueChannel)}`);
}

/** A number that changes whenever the endpoint `e` is changed: `updated_at` in microseconds. */
export const configVersion = sql`(extract(epoch from e.updated_at) * 1000000)::bigint`;
