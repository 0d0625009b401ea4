import sql, { raw } from 'sql-template-tag';
import type { StateRow } from '../platform/metrics/figures.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { waitingHeads } from './drainer/queries.ts';
import { health } from './endpoints/queries.ts';
import { isPolled } from './queries.ts';
import type { DueState, EndpointHealth } from './values.ts';

/** How far what is due is counted in each state: that goes along an index, but a backlog may be of any size. */
export const mostCounted = 10_000;

const dueState = sql`case when not e.enabled or e.deleted_at is not null then 'disabled'
  when ${isPolled} then 'polled'
  when e.paused_until is not null then 'paused'
  when e.rate_limit is not null or e.throttled_until > now() then 'rate_limited' else 'ready' end`;

/** Counts the deliveries whose time has come, and finds the oldest, from endpoint to endpoint along the index. */
export async function countDue(
  db: Queryable,
  { lanes, states }: { lanes: readonly number[]; states: readonly DueState[] },
): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    ${waitingHeads(lanes)}, due as materialized (
      select heads.lane, heads.endpoint_id, heads.next_attempt_at, ${dueState} as state
      from heads join webhook_endpoints e on e.id = heads.endpoint_id
      where heads.next_attempt_at <= now()
    )
    select wanted.state, counted.count, coalesce(
      (select extract(epoch from now() - min(due.next_attempt_at)) from due where due.state = wanted.state), 0
    )::float8 as age_seconds
    from unnest(${states}::text[]) as wanted (state) cross join lateral (
      select count(*) as count from (
        select from due cross join lateral (
          select from deliveries d
          where d.lane = due.lane and d.endpoint_id = due.endpoint_id and d.next_attempt_at <= now()
          limit ${raw(String(mostCounted))}
        ) each_due where due.state = wanted.state limit ${raw(String(mostCounted))}
      ) bounded
    ) counted`);
}

/** Counts the dead letters by their counters, and finds the one that was left alone longest, in each status. */
export async function countDeadLetters(db: Queryable): Promise<StateRow[]> {
  const oldest = (status: string) => sql`(
    select last_attempt_at from deliveries where status = ${raw(`'${status}'`)} order by last_attempt_at, id limit 1)`;
  return db.query<StateRow>(sql`
    select status as state, sum(count)::bigint as count, coalesce(extract(epoch from now() -
      case status when 'pending' then ${oldest('pending')} else ${oldest('abandoned')} end), 0)::float8 as age_seconds
    from dead_letter_counts where count > 0 group by status`);
}

/** Counts all endpoints that are not deleted; there is one row for each. */
export async function countEndpoints(
  db: Queryable,
): Promise<{ state: EndpointHealth; count: number }[]> {
  return db.query(sql`
    select ${health} as state, count(*) as count from webhook_endpoints
    where deleted_at is null group by 1`);
}

/** Counts the bulk retries and purges that have not ended. An index has only these. */
export async function countOpenJobs(db: Queryable): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    select state, count(*) as count, extract(epoch from now() - min(created_at))::float8 as age_seconds
    from dead_letter_jobs where state in ('running', 'paused') group by state`);
}
