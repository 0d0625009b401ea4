import { addDays, dayMillis } from '../../kernel/day.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import type { RecordsOverview } from '../stored.contract.ts';
import * as queries from './queries.ts';

const hourMillis = 3_600_000;
/** How much is shown: the hours of today and of the week before it, so many days, and so many days by tenant. */
const [shownWeek, shownDays, tenantDays, mostTenants] = [7, 90, 28, 12];

/** What there is and was stored lately, of these tenants, or of all (null), from counters alone. */
export async function readStored(
  db: Database,
  tenants: readonly string[] | null,
): Promise<RecordsOverview> {
  return db.transaction(
    async (snapshot) => {
      const times = await queries.findTimes(snapshot);
      const { today, summed_day: summedDay, live_from: liveFrom } = times;
      const from = `${addDays(today, -shownWeek)}T00:00:00.000000Z`;
      const firstDay = addDays(today, 1 - shownDays);
      const liveDay = summedDay === null ? firstDay : addDays(summedDay, 1);
      const totals = await queries.sumTenants(snapshot, tenants);
      const hourSums = await queries.listHours(snapshot, tenants, { from, liveFrom });
      const daySums = await queries.listDays(snapshot, tenants, firstDay);
      const names = await queries.listLargestTenants(snapshot, tenants, {
        times,
        most: mostTenants,
      });
      const firstTenantDay = addDays(today, 1 - tenantDays);
      const ofTenants = await queries.listTenantDays(snapshot, names, {
        first: firstTenantDay,
        liveDay,
      });
      const hoursSince = (Date.parse(times.now) - Date.parse(from)) / hourMillis;
      const hours = toSeries(hourSums, Math.floor(hoursSince) + 1);
      const countedFrom = firstOf({ daySums, firstDay, hourSums, from });
      const tiers = { hot: totals.count - totals.cold_count, cold: totals.cold_count };
      return {
        count: totals.count,
        bytes: totals.bytes,
        stored_bytes: totals.bytes - totals.cold_bytes + totals.cold_stored_bytes,
        hot_count: tiers.hot,
        cold_count: tiers.cold,
        tenants: totals.tenants,
        counted_from: countedFrom,
        today: {
          count: sum(hours.slice(24 * shownWeek)),
          // On the day on which counting began, only a part of it was counted.
          week_ago:
            countedFrom !== null && countedFrom < from.slice(0, 10)
              ? sumUntil(hours, hoursSince - 24 * shownWeek)
              : null,
        },
        hours: { from, count: hours },
        days: { from: firstDay, ...toDays({ daySums, firstDay, liveDay, hours, from, tiers }) },
        by_tenant: { from: firstTenantDay, tenants: toTenants(names, ofTenants) },
      };
    },
    { isolation: 'repeatable read' },
  );
}

/** The sum of the first so many hours, of the last of them the share that is over. */
function sumUntil(hours: readonly number[], end: number): number {
  const full = Math.floor(end);
  return Math.round(sum(hours.slice(0, full)) + (hours[full] ?? 0) * (end - full));
}

type Sums = readonly { at: number; count: number }[];

function toSeries(sums: Sums, length: number): number[] {
  const series = Array.from({ length }, () => 0);
  for (const { at, count } of sums) if (at >= 0 && at < length) series[at] = count;
  return series;
}

/** The first day in which anything was counted; null when nothing was. */
function firstOf(parts: { daySums: Sums; firstDay: string; hourSums: Sums; from: string }) {
  const [day] = parts.daySums;
  if (day !== undefined) return addDays(parts.firstDay, day.at);
  const [hour] = parts.hourSums;
  return hour === undefined ? null : addDays(parts.from.slice(0, 10), Math.floor(hour.at / 24));
}

/** The days as they were summed up, and those since then from their hours. */
function toDays(parts: {
  daySums: readonly queries.StoredDay[];
  firstDay: string;
  liveDay: string;
  hours: readonly number[];
  from: string;
  tiers: { hot: number; cold: number };
}): Pick<RecordsOverview['days'], 'count' | 'hot_count' | 'cold_count'> {
  const { daySums, firstDay, liveDay, hours, from, tiers } = parts;
  const count = toSeries(daySums, shownDays);
  for (let at = Math.max(0, daysBetween(firstDay, liveDay)); at < shownDays; at++) {
    const start = 24 * daysBetween(from.slice(0, 10), addDays(firstDay, at));
    if (start >= 0) count[at] = sum(hours.slice(start, start + 24));
  }
  const byTier = (pick: (day: queries.StoredDay) => number | null, now: number) => {
    const series = Array.from<number | null>({ length: shownDays }).fill(null);
    for (const day of daySums) if (day.at < shownDays) series[day.at] = pick(day);
    series[shownDays - 1] = now;
    return series;
  };
  return {
    count,
    hot_count: byTier((day) => day.hot_count, tiers.hot),
    cold_count: byTier((day) => day.cold_count, tiers.cold),
  };
}

/** The tenants that stored most in all these days, the largest first. */
function toTenants(
  names: readonly string[],
  sums: readonly (queries.StoredSum & { tenant: string })[],
): RecordsOverview['by_tenant']['tenants'] {
  const rows = names.map((tenant) => ({
    tenant,
    days: toSeries(
      sums.filter((each) => each.tenant === tenant),
      tenantDays,
    ),
  }));
  return rows.toSorted((a, b) => sum(b.days) - sum(a.days)).slice(0, mostTenants);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function daysBetween(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / dayMillis);
}

/**
 * Sums up the hours and days that are over, and forgets those that are older than what is shown. Ingest counts by tenant
 * alone: a row of all tenants would make all writers wait for each other. Several processes may call it; one does it.
 */
export async function sumStored(db: Database): Promise<void> {
  await db.transaction(async (connection) => {
    if (!(await queries.tryLockSums(connection))) return;
    await queries.forgetParts(connection);
    const { live_from: liveFrom } = await queries.findTimes(connection);
    await queries.sumHours(connection, { liveFrom });
    const days = await queries.findDueDays(connection);
    if (days === undefined) return;
    await queries.sumDays(connection, days);
    await queries.forgetStored(connection);
  });
}

const everyMillis = 60_000;

/** Does so every minute until stopped. */
export function startSumming(db: Database, { log }: { log: Log }): Repeated {
  return repeat(() => sumStored(db), {
    everyMillis,
    onError: (error) => log.warn({ err: error }, 'what was stored could not be summed up'),
  });
}
