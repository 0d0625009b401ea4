import type { Queryable } from '../../platform/postgres/database.ts';
import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';
import { clip } from '../segments/row-ranges.ts';
import type { ColdReader } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { fewLooks, planColdTimes } from './by-time.ts';
import { maxSegments, readTwice, type SegmentRows, withRows } from './open-segments.ts';
import {
  beyondTenant,
  firstDayBeyond,
  isDayOf,
  type PlanOptions,
  planScan,
  planWhole,
  type ScanPlan,
  storeDayOf,
  tenantsBeyond,
} from './plan-scan.ts';
import type { DayInSegment } from './queries.ts';
import * as queries from './queries.ts';
import { fetchSql, findSql, type Located, locateSql, positionSql } from './scan-sql.ts';
import {
  compareKeys,
  compareTimes,
  cutAt,
  type Scan,
  type ScanLimits,
  type ScanOptions,
  type Tier,
} from './tier.ts';

/** How many days are looked up: enough for most pages, and for one of 500 records that lie on 500 days. */
const lookUps = [32, 600];

/** In a day with more rows than this, the place of the cursor is located first, instead of reading the whole day. */
const largeDayRows = 10_000;

/** This many extra rows may be read and thrown away. Locating the exact rows first would take 5 ms. */
const spareRows = 1000;

/** Reads the records in segments. The catalogue says where they stand, and DuckDB reads only those rows. */
export function createColdTier(db: Queryable, cold: ColdReader, limits: ScanLimits): Tier {
  return {
    async scan(slice, options) {
      const few = fewLooks(options.limit);
      const isFirst = options.after === null && slice.eventId === undefined;
      // A look costs as much again for a filter that rarely fits, so that only the first page begins with a short one.
      if (isFirst && !isCounted(slice) && few < limits.filtered) {
        const first = await scan(slice, { ...options, limits: { ...limits, filtered: few } });
        if (first.end === null || cutAt(first.rows, options.limit) !== null) return first;
      }
      return scan(slice, { ...options, limits });
    },
    find: (key) => readTwice(() => find({ db, cold }, key)),
  };

  function scan(slice: Slice, options: LimitedScan): Promise<Scan> {
    return readTwice(async () => {
      if (options.isByTime) return scanTimes({ db, cold }, slice, options);
      const ofEvent = await searchHolders({ db, cold }, slice, options);
      if (ofEvent !== null) return ofEvent;
      const found = await lookUp(db, slice, options);
      const exact = await locateCursor({ db, cold }, found, options);
      const plan = planScan(exact.days, exact.options);
      if (plan.parts.length === 0) return { rows: [], end: plan.end };
      const { after } = exact.options;
      // Looking at rows in their order would need them all in memory: for an event the plan itself is the limit.
      const looks = slice.eventId === undefined ? exact.options.limit : null;
      return readPlan({ db, cold }, slice, { ...options, after, plan, looks });
    });
  }
}

type Tiers = { db: Queryable; cold: ColdReader };

type Found = { days: DayInSegment[]; options: PlanOptions };

type LimitedScan = ScanOptions & { readonly limits: ScanLimits };

async function scanTimes(tiers: Tiers, slice: Slice, options: LimitedScan): Promise<Scan> {
  const looks = (days: readonly Sized[]) => looksOf(slice, days, options);
  const found = await planColdTimes(tiers.db, slice, { ...options, looks });
  if (!('plan' in found)) return { rows: [], end: found.end };
  if (found.plan.parts.length === 0) return { rows: [], end: found.plan.end };
  return readPlan(tiers, found.slice, { ...options, plan: found.plan, looks: found.looks });
}

/** So many segments are searched for an event before its page ends, so that filters are not asked again and again. */
const mostHolders = 4 * maxSegments;

/** Searches an event in the segments that may hold it; null when too many of a tenant may, or the slice says more. */
async function searchHolders(
  tiers: Tiers,
  slice: Slice,
  options: LimitedScan,
): Promise<Scan | null> {
  const { eventId, dataset } = slice;
  if (eventId === undefined || dataset !== undefined) return null;
  const { after, descending, limits } = options;
  const found = await queries.listHolders(
    tiers.db,
    { ...slice, eventId },
    {
      beyond: after === null ? null : [tenantsBeyond(after, descending), after[0]],
      descending,
      limit: mostHolders,
      filters: limits.filters,
    },
  );
  // Of many thousands of segments some look as if they held any event.
  const { groups, isCut } = groupHolders(found.holders);
  const last = isCut ? (groups.at(-1)?.at(-1)?.tenant ?? null) : found.last;
  if (isCut && last === null) return null;
  const end = last === null ? null : beyondTenant(last, descending);
  const rows: RecordRow[] = [];
  for (const group of groups) {
    const limit = options.limit - rows.length;
    const plan = planWhole(group, end);
    rows.push(...(await readPlan(tiers, slice, { ...options, limit, plan, looks: null })).rows);
    const cut = cutAt(rows, options.limit);
    if (cut !== null) return { rows, end: cut };
  }
  return { rows, end };
}

/** Groups of whole tenants that may be open at once, up to the first tenant with too many segments. */
function groupHolders(holders: readonly queries.WholeSegment[]): {
  groups: queries.WholeSegment[][];
  isCut: boolean;
} {
  const tenants = new Map<string, queries.WholeSegment[]>();
  for (const holder of holders) {
    tenants.set(holder.tenant, [...(tenants.get(holder.tenant) ?? []), holder]);
  }
  const isFull = holders.length > mostHolders;
  // The last one may have more than were looked up.
  if (isFull) tenants.delete(holders.at(-1)?.tenant ?? '');
  const groups: queries.WholeSegment[][] = [];
  for (const own of tenants.values()) {
    if (own.length > maxSegments) return { groups, isCut: true };
    const group = groups.at(-1);
    if (group !== undefined && group.length + own.length <= maxSegments) group.push(...own);
    else groups.push(own);
  }
  return { groups, isCut: isFull };
}

/** Finds in the catalogue which days of which segments hold the next records. */
async function lookUp(db: Queryable, slice: Slice, options: LimitedScan): Promise<Found> {
  const { after, until = null, descending, limits } = options;
  const isOfEvent = slice.eventId !== undefined;
  const sizes = isOfEvent ? [limits.days] : lookUps;
  for (const [attempt, size] of sizes.entries()) {
    const days = await queries.listSegmentDays(db, slice, {
      from: after === null ? null : firstDayBeyond(after, descending),
      to: until === null ? null : storeDayOf(until),
      descending,
      limit: size,
    });
    const mayBeMore = days.length >= size;
    const limit = looksOf(slice, days, options);
    const found = { days, options: { after, descending, limit, mayBeMore, areWhole: isOfEvent } };
    if (!mayBeMore || attempt === sizes.length - 1) return found;
    if (planScan(days, found.options).isFull) return found;
  }
  throw new Error('no look-up is the last');
}

type Sized = { readonly count: number; readonly bytes: number };

/** Returns how many of the next rows are looked at. */
function looksOf(slice: Slice, days: readonly Sized[], { limit, limits }: LimitedScan): number {
  if (isCounted(slice)) return limit;
  if (slice.eventId !== undefined) return limits.ofEvent;
  if (slice.where === undefined) return limits.filtered;
  return Math.min(limits.filtered, rowsIn(days, limits.bytes));
}

/** Returns about how many of the next rows have so many bytes together, and at least one. */
function rowsIn(days: readonly Sized[], bytes: number): number {
  let [rows, left] = [0, bytes];
  for (const day of days) {
    if (day.bytes >= left) return Math.max(1, rows + Math.floor((day.count * left) / day.bytes));
    rows += day.count;
    left -= day.bytes;
  }
  return Number.POSITIVE_INFINITY;
}

/** If the cursor stands in a large day, cuts that day to the rows after the cursor. No key need be compared then. */
async function locateCursor(
  tiers: Tiers,
  found: Found,
  { after, isInclusive = false, descending, limits }: LimitedScan,
): Promise<Found> {
  if (after === null) return found;
  const begun = found.days.filter((day) => isDayOf(day, after));
  const sum = (of: 'count' | 'bytes') => begun.reduce((total, day) => total + day[of], 0);
  if (sum('count') <= largeDayRows && sum('bytes') <= limits.bytes) return found;
  const positions = await withRows(tiers, begun.map(wholeDay(after)), (parts) =>
    tiers.cold.duckdb.run<{ part: number; at_row: string }>(
      positionSql(parts, after, { isInclusive, descending }),
    ),
  );
  const cut = begun.map((day, n): DayInSegment => {
    const at = positions.find(({ part }) => part === n);
    const before = at === undefined ? day.count : Number(at.at_row) - day.first_row;
    if (descending) return { ...day, count: before };
    return { ...day, first_row: day.first_row + before, count: day.count - before };
  });
  const rest = found.days.filter((day) => !isDayOf(day, after));
  return { days: [...cut, ...rest], options: { ...found.options, after: null } };
}

/** The rows of a day, of which only those at the time of a key are needed. */
function wholeDay([, , at]: RecordKey) {
  return (day: DayInSegment): SegmentRows => ({
    segment: day,
    ranges: [[day.first_row, day.first_row + day.count - 1]],
    at,
  });
}

async function readPlan(
  tiers: Tiers,
  slice: Slice,
  options: LimitedScan & {
    plan: ScanPlan;
    /** How many rows are looked at to find those of the page; null: all of the plan. */
    looks: number | null;
  },
): Promise<Scan> {
  const { plan, looks, limit, descending, isByTime = false, after, isInclusive = false } = options;
  const bound = { after, isInclusive, descending, isByTime };
  return withRows(tiers, plan.parts, async (files) => {
    let parts = files;
    let { end } = plan;
    // A few rows are read whole at once. Of many rows, or with a filter, those that the page shows are found first, by
    // reading the narrow columns alone.
    const isSmall = plan.rowCount <= limit + spareRows && plan.bytes <= pageBytes;
    if (isByTime || !isCounted(slice) || !isSmall) {
      const located = await locate(
        tiers.cold,
        locateSql(files, slice, { ...bound, limit, lookLimit: looks }),
      );
      if (looks !== null && located.looked >= looks) end = located.last;
      parts =
        located.parts?.map(({ part, first_row, last_row, rows: own }) => ({
          rows: own,
          path: files[part]?.path ?? '',
          ranges: clip(plan.parts[part]?.ranges ?? [], [first_row, last_row]),
        })) ?? [];
    }
    const rows =
      parts.length === 0 ? [] : await fetchRows(tiers.cold, fetchSql(parts, slice, bound));
    const compare = isByTime ? compareTimes : compareKeys;
    rows.sort((a, b) => (descending ? -1 : 1) * compare(keyOf(a), keyOf(b)));
    const shown = rows.slice(0, limit);
    return { rows: shown, end: cutAt(shown, limit) ?? end };
  });
}

async function find(tiers: Tiers, key: RecordKey): Promise<RecordRow | undefined> {
  const [tenant, store] = key;
  const day = storeDayOf(key);
  const days = await queries.listSegmentDays(
    tiers.db,
    { tenant, store, tenants: null },
    { from: day, to: day, descending: false, limit: 1 },
  );
  if (days.length === 0) return undefined;
  return withRows(tiers, days.map(wholeDay(key)), async (parts) => {
    const rows = await fetchRows(tiers.cold, findSql(parts, key));
    return rows[0];
  });
}

async function locate(cold: ColdReader, statement: string): Promise<Located> {
  const rows = await cold.duckdb.run<{ located: string }>(statement);
  return JSON.parse(rows[0]?.located ?? '') as Located;
}

async function fetchRows(cold: ColdReader, statement: string): Promise<RecordRow[]> {
  const rows = await cold.duckdb.run<{ record: string }>(statement);
  return rows.map(({ record }) => JSON.parse(record) as RecordRow);
}
