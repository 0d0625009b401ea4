import sql, { empty, raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { tenantConditions, where } from '../slice/queries.ts';

/** The tenant whose rows are the sums of all: no tenant has an empty name. */
const allTenants = '';

/** So long after its end an hour is summed up. No transaction that stores records takes as long. */
const lag = sql`interval '15 minutes'`;
/** Hours that are over begin before this one. */
const openHour = sql`date_trunc('hour', now() - ${lag}, 'UTC')`;

/** The caller's tenants; null means all. */
type Reach = readonly string[] | null;

/** What is summed up so far, and which day it is. Days are `YYYY-MM-DD`, hours RFC 3339. */
type StoredTimes = {
  now: string;
  today: string;
  /** The first hour that is not in the sums of all tenants. */
  live_from: string;
  /** The last day that is summed up; null when there is none. */
  summed_day: string | null;
};

export async function findTimes(db: Queryable): Promise<StoredTimes> {
  const [times] = await db.query<StoredTimes>(sql`
    select ${instantText('now()')} as now, (now() at time zone 'UTC')::date::text as today,
      ${instantText(`coalesce(hours.last + interval '1 hour', '1970-01-01T00:00:00Z')`)} as live_from,
      days.last::text as summed_day
    from (select max(hour) as last from stored_hours where tenant = ${allTenants}) hours,
      (select max(day) as last from stored_days where tenant = ${allTenants}) days`);
  if (times === undefined) throw new Error('the time could not be read');
  return times;
}

/** All records of these tenants, from one counter for each of them. */
export type Totals = {
  tenants: number;
  count: number;
  bytes: number;
  cold_count: number;
  cold_bytes: number;
  cold_stored_bytes: number;
};

export async function sumTenants(db: Queryable, tenants: Reach): Promise<Totals> {
  const [totals] = await db.query<Totals>(sql`
    select count(*) filter (where count > 0)::int as tenants, coalesce(sum(count), 0)::bigint as count,
      coalesce(sum(bytes), 0)::bigint as bytes, coalesce(sum(cold_count), 0)::bigint as cold_count,
      coalesce(sum(cold_bytes), 0)::bigint as cold_bytes,
      coalesce(sum(cold_stored_bytes), 0)::bigint as cold_stored_bytes
    from leaf_tenants ${where(tenantConditions({ tenants }))}`);
  if (totals === undefined) throw new Error('the counters of tenants could not be summed');
  return totals;
}

/** What was stored in an hour or on a day; `at` counts from the first one asked for. */
export type StoredSum = { at: number; count: number; bytes: number };

/** The hours since `from`. Of all tenants those that are over are summed up already, a row for each. */
export async function listHours(
  db: Queryable,
  tenants: Reach,
  { from, liveFrom }: { from: string; liveFrom: string },
): Promise<StoredSum[]> {
  const live =
    tenants === null
      ? sql`union all select hour, count, bytes from stored_hours
          where tenant <> ${allTenants} and hour >= greatest(${from}::timestamptz, ${liveFrom}::timestamptz)`
      : empty;
  return db.query<StoredSum>(sql`
    select (extract(epoch from hour - ${from}::timestamptz) / 3600)::int as at,
      sum(count)::bigint as count, sum(bytes)::bigint as bytes
    from (
      select hour, count, bytes from stored_hours
      where tenant = any(${namesOf(tenants)}::text[]) and hour >= ${from}::timestamptz ${live}
    ) counted group by hour order by hour`);
}

/** A day that is over, and what was hot and cold at its end. */
export type StoredDay = StoredSum & { hot_count: number | null; cold_count: number | null };

/** The days since `first` that are summed up. */
export async function listDays(db: Queryable, tenants: Reach, first: string): Promise<StoredDay[]> {
  return db.query<StoredDay>(sql`
    select (day - ${first}::date) as at, sum(count)::bigint as count, sum(bytes)::bigint as bytes,
      sum(hot_count)::bigint as hot_count, sum(cold_count)::bigint as cold_count
    from stored_days where tenant = any(${namesOf(tenants)}::text[]) and day >= ${first}::date
    group by day order by day`);
}

/** The tenants that sent most on the last summed day, a week before it, or since: also who fell silent. */
export async function listLargestTenants(
  db: Queryable,
  tenants: Reach,
  { times, most }: { times: StoredTimes; most: number },
): Promise<string[]> {
  const inReach = where([sql`tenant <> ${allTenants}`, ...tenantConditions({ tenants })]);
  const ofDay = (day: Sql) => sql`(
    select tenant from stored_days ${inReach} and day = ${day}
    order by count desc, tenant limit ${most})`;
  const rows = await db.query<{ tenant: string }>(sql`
    ${ofDay(sql`${times.summed_day}::date`)} union ${ofDay(sql`${times.summed_day}::date - 7`)} union (
      select tenant from stored_hours ${inReach} and hour >= ${times.live_from}::timestamptz
      group by tenant order by sum(count) desc, tenant limit ${most})`);
  return rows.map(({ tenant }) => tenant);
}

/** What each of these tenants stored on each day since `first`. Days that are not summed up come from their hours. */
export async function listTenantDays(
  db: Queryable,
  tenants: readonly string[],
  { first, liveDay }: { first: string; liveDay: string },
): Promise<(StoredSum & { tenant: string })[]> {
  return db.query(sql`
    select tenant, day - ${first}::date as at, count, bytes from stored_days
    where tenant = any(${tenants}::text[]) and day >= ${first}::date and day < ${liveDay}::date
    union all
    select tenant, (hour at time zone 'UTC')::date - ${first}::date, sum(count)::bigint, sum(bytes)::bigint
    from stored_hours
    where tenant = any(${tenants}::text[])
      and hour >= greatest(${first}::date, ${liveDay}::date)::timestamp at time zone 'UTC'
    group by 1, 2`);
}

function namesOf(tenants: Reach): readonly string[] {
  return tenants ?? [allTenants];
}

/** Whether this transaction alone may sum up. */
export async function tryLockSums(connection: Connection): Promise<boolean> {
  const rows = await connection.query<{ is_locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(${advisoryLocks.storedSums}) as is_locked`,
  );
  return rows[0]?.is_locked ?? false;
}

/** Sums up the hours of all tenants that are over. */
export async function sumHours(connection: Connection, { liveFrom }: { liveFrom: string }) {
  await connection.query(sql`
    insert into stored_hours (tenant, hour, count, bytes)
    select ${allTenants}, hour, sum(count), sum(bytes) from stored_hours
    where tenant <> ${allTenants} and hour >= ${liveFrom}::timestamptz and hour < ${openHour}
    group by hour on conflict (tenant, hour) do nothing`);
}

/** Days that are over and not summed up, from the first to before `until`, as `YYYY-MM-DD`. */
export type DueDays = { first: string; until: string };

/** Finds them. The first day ever is the one in which records were first counted by the hour. */
export async function findDueDays(connection: Connection): Promise<DueDays | undefined> {
  const rows = await connection.query<DueDays>(sql`
    select first::text as first, until::text as until from (
      select (${openHour} at time zone 'UTC')::date as until, coalesce(
        (select max(day) + 1 from stored_days where tenant = ${allTenants}),
        (select (min(hour) at time zone 'UTC')::date from stored_hours)
      ) as first
    ) due where first < until`);
  return rows[0];
}

/** Sums up days by tenant, and then all. What is hot and cold is known only now, so it goes to the last of them. */
export async function sumDays(connection: Connection, { first, until }: DueDays): Promise<void> {
  await connection.query(sql`
    insert into stored_days (tenant, day, count, bytes)
    select tenant, (hour at time zone 'UTC')::date, sum(count), sum(bytes) from stored_hours
    where tenant <> ${allTenants} and hour >= ${first}::date::timestamp at time zone 'UTC'
      and hour < ${until}::date::timestamp at time zone 'UTC'
    group by 1, 2 on conflict (tenant, day) do nothing`);
  await connection.query(sql`
    insert into stored_days as summed (tenant, day, count, bytes, hot_count, hot_bytes, cold_count, cold_bytes)
    select tenant, ${until}::date - 1, 0, 0, count - cold_count, bytes - cold_bytes, cold_count, cold_bytes
    from leaf_tenants where count > 0
    on conflict (tenant, day) do update set hot_count = excluded.hot_count, hot_bytes = excluded.hot_bytes,
      cold_count = excluded.cold_count, cold_bytes = excluded.cold_bytes`);
  await connection.query(sql`
    insert into stored_days (tenant, day, count, bytes, hot_count, hot_bytes, cold_count, cold_bytes)
    select ${allTenants}, day, sum(count), sum(bytes), sum(hot_count), sum(hot_bytes), sum(cold_count),
      sum(cold_bytes)
    from stored_days where tenant <> ${allTenants} and day >= ${first}::date and day < ${until}::date
    group by day on conflict (tenant, day) do nothing`);
}

/** Deletes the hours and days that nobody asks for any more. */
export async function forgetStored(connection: Connection): Promise<void> {
  await connection.query(sql`delete from stored_hours where hour < now() - interval '9 days'`);
  await connection.query(sql`
    delete from stored_days where day < (now() at time zone 'UTC')::date - 100`);
}

/** A tail may begin, or go on, with what was stored so many hours ago. */
export const tailHours = 24;

/** Deletes the parts that no tail is told of. The last stays, to tell who asks from before it that some may be gone. */
export async function forgetParts(connection: Connection): Promise<void> {
  const isOld = (part: string) =>
    raw(`${part}.stored_at < now() - interval '${tailHours + 1} hours'`);
  await connection.query(sql`
    delete from stored_parts part where ${isOld('part')} and exists (
      select from stored_parts later where later.tenant = part.tenant
        and later.stored_at > part.stored_at and ${isOld('later')})`);
}
