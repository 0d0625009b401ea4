import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import {
  type DeliveryStatus,
  deliveryStatuses,
  type RowOutcome,
  type ShownOutcome,
} from '../values.ts';

/** What has become so far of the delivery `d`, whose endpoint is `e`, since a job re-armed or purged it. */
export const rowOutcome =
  raw(`case d.status when 'delivered' then 'delivered' when 'discarded' then 'discarded'
  when 'abandoned' then 'abandoned' when 'pending' then 'failed_again'
  else case when not e.enabled or e.deleted_at is not null then 'waits_for_endpoint'
    when e.paused_until is not null and not d.is_probe then 'waits_for_breaker' else 'under_way' end end`);

/** The status of all deliveries of which this has become. Those that are queued differ by their endpoint. */
export const statusOf = (outcome: ShownOutcome): DeliveryStatus =>
  outcome === 'failed_again'
    ? 'pending'
    : (deliveryStatuses.find((status) => status === outcome) ?? 'queued');

/** The jobs of a table whose rows are looked at, and by which column deliveries name theirs. */
export type LookedAt = { readonly jobs: 'dead_letter_jobs' | 'replays'; readonly by: string };

/** A job whose rows are to be looked at, with what is known of them. */
type DueLook = {
  id: string;
  has_ended: boolean;
  is_old: boolean;
  /** What they were at the last look, and for how many seconds that is unchanged; null at the first. */
  counts: Readonly<Record<string, number>> | null;
  unchanged: number | null;
};

/** Nobody else looks at these rows for so long, unless this process stores what it saw. */
const claimSeconds = raw('60');

/** Finds the job whose rows were to be looked at the longest ago. One that is older than `days` days is so no more. */
export async function takeDueLook(
  db: Queryable,
  { jobs }: LookedAt,
  days: number,
): Promise<DueLook | undefined> {
  const rows = await db.query<DueLook>(sql`
    update ${raw(jobs)} j set look_at = case when j.created_at >= now() - make_interval(days => ${days})
      then clock_timestamp() + interval '${claimSeconds} seconds' end
    where j.id = (
      select id from ${raw(jobs)} where look_at <= clock_timestamp()
      order by look_at limit 1 for update skip locked)
    returning j.id, j.state in ('completed', 'cancelled') as has_ended,
      j.look_at is null as is_old, j.outcome -> 'counts' as counts,
      extract(epoch from clock_timestamp() - (j.outcome ->> 'changed_at')::timestamptz)::float8 as unchanged`);
  return rows[0];
}

/** Counts what became of the rows of a job, which name it; and those it has done that name it no more. */
export async function countOutcomes(
  db: Queryable,
  { jobs, by }: LookedAt,
  id: string,
): Promise<Partial<Record<RowOutcome, number>>> {
  const rows = await db.query<{ outcome: RowOutcome; count: number }>(sql`
    with named as (
      select ${rowOutcome} as outcome, count(*) as count
      from deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where d.${raw(by)} = ${id} group by 1
    )
    select outcome, count from named
    union all
    select 'retried_since', j.rows_done - (select coalesce(sum(count), 0) from named)::bigint
    from ${raw(jobs)} j where j.id = ${id}`);
  return Object.fromEntries(
    rows.filter(({ count }) => count > 0).map(({ outcome, count }) => [outcome, count]),
  );
}

/** Stores what was seen. `waitSeconds`: until the next look; null when that is all that becomes of the rows. */
export async function storeOutcome(
  db: Queryable,
  { jobs }: LookedAt,
  id: string,
  seen: {
    counts: Partial<Record<RowOutcome, number>>;
    hasChanged: boolean;
    waitSeconds: number | null;
    isSettled: boolean;
  },
): Promise<void> {
  const { counts, hasChanged, waitSeconds, isSettled } = seen;
  await db.query(sql`
    update ${raw(jobs)} j set looked_at = clock_timestamp(),
      outcome = json_build_object('counts', ${JSON.stringify(counts)}::json, 'changed_at',
        case when ${hasChanged}::boolean then clock_timestamp() else (j.outcome ->> 'changed_at')::timestamptz end),
      look_at = clock_timestamp() + make_interval(secs => ${waitSeconds}::float8),
      settled_at = case when ${isSettled}::boolean then clock_timestamp() end
    where j.id = ${id} and j.settled_at is null`);
}
