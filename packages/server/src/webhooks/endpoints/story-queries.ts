import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import { summedTimes } from '../answer-queries.ts';
import type { EndpointStory } from '../contract.ts';
import { laneOf, placed } from '../lanes.ts';
import { hourNow, isPolled, keptHours } from '../queries.ts';
import type { EndpointRow } from './queries.ts';

/** The attempts that are remembered, the newest first. Of those whose deliveries are forgotten nothing is left. */
export async function listRecentAttempts(
  db: Queryable,
  id: string,
): Promise<(EndpointStory['attempts'][number] & { response: Buffer | null })[]> {
  return db.query(sql`
    select a.delivery_id, a.number, ${instantText('a.started_at')} as started_at, a.duration_ms, a.status,
      a.failure_class, a.error, a.response
    from endpoint_attempts e
    cross join lateral unnest(e.recent) as noted (name)
    join delivery_attempts a on a.lane = e.lane and a.delivery_id = split_part(noted.name, '/', 1)
      and a.number = split_part(noted.name, '/', 2)::integer
    where e.lane = ${laneOf(id)} and e.endpoint_id = ${id}
    order by a.started_at desc, a.delivery_id, a.number desc`);
}

/** The newest of the remembered attempts that failed, of each of these endpoints that has one. */
export async function listLastErrors(
  db: Queryable,
  endpointIds: readonly string[],
): Promise<(NonNullable<EndpointRow['last_error']> & { endpoint_id: string })[]> {
  return db.query(sql`
    select distinct on (e.endpoint_id) e.endpoint_id, ${instantText('a.started_at')} as at, a.delivery_id,
      a.failure_class, a.status, a.error
    from ${givenRows('wanted', placed(endpointIds), { lane: 'smallint', id: 'text' })}
    join endpoint_attempts e on e.lane = wanted.lane and e.endpoint_id = wanted.id
    cross join lateral unnest(e.recent) as noted (name)
    join delivery_attempts a on a.lane = e.lane and a.delivery_id = split_part(noted.name, '/', 1)
      and a.number = split_part(noted.name, '/', 2)::integer
    where a.failure_class is not null
    order by e.endpoint_id, a.started_at desc`);
}

/** What became of the attempts in the last so many hours, the present one included, and how long the answers took. */
export async function sumPeriods(
  db: Queryable,
  id: string,
  periods: readonly number[],
): Promise<{ hours: number; delivered: number; tries: number; answer_times: number[] }[]> {
  return db.query(sql`
    select period.hours, sums.* from unnest(${periods}::integer[]) as period (hours)
    cross join lateral (
      select coalesce(sum(delivered), 0)::bigint as delivered,
        coalesce(sum(delivered + failed + abandoned), 0)::bigint as tries,
        ${summedTimes('answer_times')} as answer_times
      from endpoint_hours where lane = ${laneOf(id)} and endpoint_id = ${id}
        and hour > ${hourNow} - make_interval(hours => least(period.hours, ${raw(String(keptHours))}))
    ) sums order by period.hours`);
}

/** So many waiting deliveries are looked at for the oldest: those that are due first. */
const mostLookedAt = raw('10000');

/** Since when the oldest delivery waits that is queued or pending; null when none is. */
export async function findOldestWaiting(
  db: Queryable,
  id: string,
): Promise<EndpointStory['oldest_waiting']> {
  const rows = await db.query<{ since: string | null; is_exact: boolean }>(sql`
    select ${instantText('min(created_at)')} as since, count(*) < ${mostLookedAt} as is_exact from (
      select created_at from deliveries where lane = ${laneOf(id)} and endpoint_id = ${id} and next_attempt_at is not null
      order by next_attempt_at limit ${mostLookedAt}
    ) as waiting`);
  const [found] = rows;
  return found?.since ? { since: found.since, is_exact: found.is_exact } : null;
}

/** Who polled an endpoint last, and what was handed out and is not acknowledged; null: it is not polled. */
export async function findPolledState(db: Queryable, id: string): Promise<EndpointStory['polled']> {
  const rows = await db.query<NonNullable<EndpointStory['polled']>>(sql`
    select ${instantText('p.polled_at')} as polled_at, p.polled_by, waiting.count::int as handed_out,
      ${instantText('waiting.since')} as handed_out_since
    from webhook_endpoints e left join pull_places p on p.endpoint_id = e.id
    cross join lateral (
      select count(*) as count, min(handed_out_at) as since from (
        select handed_out_at from pulled_deliveries where endpoint_id = e.id order by position limit ${mostLookedAt}
      ) as handed_out
    ) as waiting
    where e.id = ${id} and ${isPolled}`);
  return rows[0] ?? null;
}

/** The dead letters of an endpoint, from their counters, the largest group first. */
export async function countDeadLettersOf(
  db: Queryable,
  id: string,
): Promise<EndpointStory['dead_letters']> {
  return db.query(sql`
    select status, failure_class, count from dead_letter_counts where endpoint_id = ${id} and count > 0
    order by count desc, status, failure_class`);
}

/** Lists the replays to an endpoint that have not ended, or were asked for within a day, the newest first. */
export async function listReplaysTo(
  db: Queryable,
  id: string,
  limit: number,
): Promise<EndpointStory['replays']> {
  return db.query(sql`
    select j.id, j.state, j.selection as only, j.state in ('running', 'paused') and not e.enabled as waits_for_endpoint,
      case when j.rows_total > 0 then greatest(j.rows_total, j.rows_done + j.rows_skipped) end as rows_total, j.rows_done, j.rows_skipped, ${instantText('j.created_at')} as created_at
    from replays j join webhook_endpoints e on e.id = j.endpoint_id
    where j.endpoint_id = ${id} and (j.state in ('running', 'paused') or j.created_at > now() - interval '1 day')
    order by j.created_at desc, j.id desc limit ${limit}`);
}
