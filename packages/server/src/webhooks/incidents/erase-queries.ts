import sql, { join } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { discarded } from '../dead-letters/queries.ts';
import { attemptsWithAnswers, deliveriesOf, type WalkPosition, walked } from '../queries.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import { erasedKey, isErasedKey } from './insert-queries.ts';

/** The incidents of a tenant that are to be erased: those that fit every field that is not null. */
export type IncidentScope = {
  readonly tenant: string;
  readonly store: string | null;
  readonly eventIds: readonly string[] | null;
  /** Whole days on which they occurred, `YYYY-MM-DD`; both ends belong to the range. */
  readonly from: string | null;
  readonly to: string | null;
};

export type ScopeRow = {
  id: string;
  created_at: string;
  /** What is sent, and the caller's key; null unless event ids are looked for. */
  body: string | null;
  key: string | null;
};

/** Reads the next incidents of a scope in the order of their reports; the event ids are not applied. */
export async function listOfScope(
  db: Queryable,
  { tenant, store, from, to, eventIds }: IncidentScope,
  { after, limit }: { after: ScopeRow | undefined; limit: number },
): Promise<ScopeRow[]> {
  const hasText = sql`${eventIds !== null}::boolean`;
  const conditions = [sql`tenant = ${tenant}`];
  if (store !== null) conditions.push(sql`store = ${store}`);
  if (from !== null) conditions.push(sql`occurred_at >= ${`${from}T00:00:00Z`}::timestamptz`);
  if (to !== null) {
    conditions.push(sql`occurred_at < ${`${to}T00:00:00Z`}::timestamptz + interval '1 day'`);
  }
  if (after !== undefined) {
    conditions.push(sql`(created_at, id) > (${after.created_at}::timestamptz, ${after.id})`);
  }
  return db.query<ScopeRow>(sql`
    select id, ${instantText('incidents.created_at')} as created_at, case when ${hasText} then body end as body,
      case when ${hasText} then (
        select idempotency_key from incident_keys k where k.incident_id = incidents.id limit 1
      ) end as key
    from incidents where ${join(conditions, ' and ')}
    order by incidents.created_at, id limit ${limit}`);
}

type ErasedCounts = { cancelled: number; answers: number; keys: number };

/** Counts what an erasure of these incidents would remove beside their payloads. */
export async function countErasable(db: Queryable, ids: readonly string[]): Promise<ErasedCounts> {
  const rows = await db.query<ErasedCounts>(sql`
    select (select count(*) from deliveries
        where incident_id = any(${ids}::text[]) and status in ('queued', 'pending')) as cancelled,
      (select count(*) from ${attemptsWithAnswers(sql`d.incident_id = any(${ids}::text[])`)}) as answers,
      (select count(*) from incident_keys
        where incident_id = any(${ids}::text[]) and not ${isErasedKey}) as keys`);
  return rows[0] ?? { cancelled: 0, answers: 0, keys: 0 };
}

/**
 * Replaces the text of idempotency keys by a hash, so that a replay is known, and forgets their digests. Whoever
 * reports under such a key waits for the end: its statement would not see the hash, and take the key for a new one.
 * Must be called first in its transaction. Returns how many.
 */
export async function eraseKeys(db: Queryable, ids: readonly string[]): Promise<number> {
  const isOwn = sql`incident_id = any(${ids}::text[]) and not ${isErasedKey}`;
  const own = await db.query(sql`select from incident_keys where ${isOwn} limit 1`);
  if (own.length === 0) return 0;
  await db.query(sql`lock table incident_keys in share row exclusive mode`);
  const erased = await db.query(sql`
    update incident_keys set idempotency_key = ${erasedKey(sql`tenant`, sql`idempotency_key`)}, digest = ''
    where ${isOwn} returning 1`);
  return erased.length;
}

/** A delivery that can no longer be sent, as it was before. */
export type StoppedRow = {
  endpoint_id: string;
  tenant: string;
  status: DeliveryStatus;
  failure_class: FailureClass | null;
  /** Until when an attempt may be under way; null when none is. */
  leased_until: string | null;
};

/** Discards what is queued or pending of these incidents, and marks what is abandoned, which cannot be retried then. */
export async function stopDeliveries(db: Queryable, ids: readonly string[]): Promise<StoppedRow[]> {
  return db.query<StoppedRow>(sql`
    with was as materialized (
      select lane, id, endpoint_id, tenant, status, failure_class, leased_until from deliveries
      where incident_id = any(${ids}::text[]) and (status in ('queued', 'pending')
        or status = 'abandoned' and failure_class is distinct from 'erased')
      order by lane, id for update
    ), cancelled as (
      update deliveries d set ${discarded} from was
      where d.lane = was.lane and d.id = was.id and was.status <> 'abandoned'
    ), marked as (
      update deliveries d set version = d.version + 1, failure_class = 'erased', error = 'Its payload was erased'
      from was where d.lane = was.lane and d.id = was.id and was.status = 'abandoned'
    )
    select endpoint_id, tenant, status, failure_class,
      case when leased_until > now() then ${instantText('leased_until')} end as leased_until from was`);
}

/** What is kept of erased incidents, and until when at the least. */
export type KeptOfErased = {
  /** When the last key may be used anew; null when no key is kept. */
  keys_until: string | null;
  /** When the last delivery is forgotten; null when one is a dead letter, which stays until it is purged. */
  rows_until: string | null;
};

/** Finds what is kept of incidents that have just been erased. What ended is forgotten after so many days. */
export async function findKept(
  db: Queryable,
  ids: readonly string[],
  days: number,
): Promise<KeptOfErased> {
  const rows = await db.query<KeptOfErased>(sql`
    select (select ${instantText(`greatest(max(created_at) + interval '30 days', kept.until)`)} from incident_keys
        where incident_id = any(${ids}::text[])) as keys_until,
      case when not exists (
        select from deliveries where incident_id = any(${ids}::text[]) and status = 'abandoned'
      ) then ${instantText('kept.until')} end as rows_until
    from (select now() + make_interval(days => ${days}) as until) as kept`);
  return rows[0] ?? { keys_until: null, rows_until: null };
}

/**
 * Looks at the next `limit` incidents reported more than `days` days ago, and answers those with a payload whose
 * deliveries all ended so long ago. `after` is where to go on, or null at the end.
 */
export async function findSettled(
  db: Queryable,
  days: number,
  from: WalkPosition | null,
  limit: number,
): Promise<{ settled: { id: string; tenant: string }[]; after: WalkPosition | null }> {
  type Walked = { id: string; tenant: string; at: string; is_settled: boolean };
  const rows = await db.query<Walked>(sql`
    with ${walked('incidents', 'tenant, erased_at', { days, after: from, limit })}
    select id, tenant, ${instantText('created_at')} as at, erased_at is null and not exists (
      select from ${deliveriesOf(sql`walked.id`)} d where d.status in ('queued', 'pending')
        or coalesce(d.finished_at, d.last_attempt_at, d.created_at) >= now() - make_interval(days => ${days})
    ) as is_settled
    from walked order by created_at, id`);
  const last = rows.at(-1);
  return {
    settled: rows.filter((row) => row.is_settled),
    after: rows.length < limit || last === undefined ? null : { at: last.at, id: last.id },
  };
}
