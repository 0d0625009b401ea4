import { addDays } from '../../kernel/day.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { listFitting, listRecords, type RecordKey, type RowScan } from '../queries.ts';
import { isCounted, type Slice, taggedWindows } from '../slice/slice.ts';
import { maxSegments } from './open-segments.ts';
import { firstDayBeyond, planWhole, type ScanPlan } from './plan-scan.ts';
import { dayEdge, planTimes, type TimeDays } from './plan-times.ts';
import { listTaggedDays, listTimeDays, type TimeDay, type WholeSegment } from './queries.ts';
import { listSliceSegments } from './sum-segments.ts';
import { cutAt, type Scan, type ScanLimits, type ScanOptions } from './tier.ts';

// The records of all stores of a tenant in the order of their times. Neither tier has them so. The counters say on which
// days some lie, and between which times those of a store, so that a page looks at a stretch of time alone.

/** One scan reads at most this many stretches of time. Each holds about four times as many records as the one before. */
const maxStretches = 8;

/** So many days are looked up, if each has few records. */
const maxDays = 600;

/** Reads hot records by time. */
export async function scanHotTimes(
  db: Queryable,
  slice: Slice,
  options: ScanOptions,
  limits: ScanLimits,
): Promise<Scan> {
  const tenant = tenantOf(slice);
  const { descending, limit } = options;
  const found = await findDays(db, slice, { ...options, tier: 'hot', limits });
  const scan: Scan = { rows: [], end: options.after };
  let { after, isInclusive } = options;
  if (!isCounted(slice)) {
    return readFiltered(db, slice, { limits, limit }, (wanted) => {
      const times = planTimes(found, { tenant, after, descending, wanted });
      if (times === null) return { scan: null, end: found.end };
      return { scan: { after, isInclusive, descending, times, limit }, end: times.end };
    });
  }
  for (let wanted = limit * 2, n = 0; n < maxStretches; n++, wanted *= 4) {
    const times = planTimes(found, { tenant, after, descending, wanted });
    if (times === null) return { ...scan, end: found.end };
    const stretch = { after, isInclusive, descending, times, limit: limit - scan.rows.length };
    scan.rows.push(...(await listRecords(db, slice, stretch)));
    scan.end = cutAt(scan.rows, limit) ?? times.end;
    if (scan.end !== times.end || times.end === null) return scan;
    [after, isInclusive] = [times.end, false];
  }
  return scan;
}

/** Where the next records lie that a page with a filter looks at, if any do, and up to where: null for the end of the slice. */
type FilteredPlan = { scan: RowScan | null; end: RecordKey | null };

/** A filter that often fits fills a page with some of so few records. They are looked at before all that may be. */
export const fewLooks = (limit: number): number => (limit <= 101 ? 501 : 2501);

/** Reads a page with a filter. */
export async function readFiltered(
  db: Queryable,
  slice: Slice,
  { limits, limit }: { limits: ScanLimits; limit: number },
  planOf: (looks: number) => FilteredPlan | Promise<FilteredPlan>,
): Promise<Scan> {
  const { filtered, bytes: scanBytes } = limits;
  let looks = Math.min(filtered, fewLooks(limit));
  for (;;) {
    const { scan, end } = await planOf(looks);
    if (scan === null) return { rows: [], end };
    const found = await listFitting(db, slice, { ...scan, scanLimit: looks, scanBytes });
    const cut = cutAt(found.rows, limit);
    const upTo = cut ?? found.end ?? end;
    const isOfBytes = found.end !== null && found.looked < looks;
    if (looks === filtered || cut !== null || upTo === null || isOfBytes) {
      return { rows: found.rows, end: upTo };
    }
    // A stretch of time may have held far fewer than it was meant to.
    looks = found.end === null ? Math.min(filtered, looks * 4) : filtered;
  }
}

/** Finds which segments hold the next cold records, and on which days; null when none do. */
export async function planColdTimes(
  db: Queryable,
  slice: Slice,
  options: ScanOptions & { limits: ScanLimits; looks: (days: readonly TimeDay[]) => number },
): Promise<{ plan: ScanPlan; slice: Slice; looks: number } | { end: RecordKey | null }> {
  const { after, until = null, descending, limits } = options;
  const tenant = tenantOf(slice);
  const found = await findDays(db, slice, { ...options, tier: 'cold', limits });
  const isWanted = ({ day }: TimeDay) =>
    until === null || (descending ? day >= until[2].slice(0, 10) : day <= until[2].slice(0, 10));
  const days = found.days.filter(isWanted);
  const end = days.length < found.days.length ? null : found.end;
  const looks = options.looks(days);
  const times = planTimes(
    { days, end },
    { tenant, after, descending, wanted: looks, isWhole: true },
  );
  if (times === null) return { end };
  const own = days.filter(
    ({ day }) => day >= times.first_at.slice(0, 10) && day <= times.last_at.slice(0, 10),
  );
  // The time at which a page begins may lie beyond the days of the slice.
  const dates = own.map(({ day }) => day).sort();
  const [first = '', last = ''] = [dates[0], dates.at(-1)];
  const span = { tenant, from: first, until: addDays(last, 1), tenants: slice.tenants };
  const few = fewSegments(own, await listSliceSegments(db, span));
  const [from, to] =
    few.last === null ? [first, last] : descending ? [few.last, last] : [first, few.last];
  return {
    slice: { ...slice, from, until: addDays(to, 1) },
    looks,
    plan: planWhole(
      few.segments,
      few.last === null ? times.end : dayEdge(tenant, few.last, descending),
      times,
    ),
  };
}

/** Returns the segments of the first of some days that may be open at once, and the last of these; null: all. */
function fewSegments(
  days: readonly TimeDay[],
  segments: readonly WholeSegment[],
): { segments: readonly WholeSegment[]; last: string | null } {
  if (segments.length <= maxSegments) return { segments, last: null };
  let picked: { segments: readonly WholeSegment[]; last: string | null } | undefined;
  const open = new Set<WholeSegment>();
  for (const { day } of days) {
    for (const segment of segments) {
      if (segment.first_day <= day && segment.last_day >= day) open.add(segment);
    }
    if (picked !== undefined && open.size > maxSegments) return picked;
    picked = { segments: [...open], last: day };
  }
  return { segments: [...open], last: null };
}

/** Finds the next days on which a tier has records of the slice. */
async function findDays(
  db: Queryable,
  slice: Slice,
  options: Pick<ScanOptions, 'after' | 'descending'> & { tier: 'hot' | 'cold'; limits: ScanLimits },
): Promise<TimeDays> {
  const { after, descending, tier, limits } = options;
  const windows = slice.dataset === undefined ? [] : taggedWindows(slice);
  const ofStores = windows.filter(({ store }) => store !== null).length;
  // Of tagged stores the days of each are looked up.
  const limit = Math.max(1, Math.min(maxDays, Math.floor(limits.days / Math.max(1, ofStores))));
  const from = after === null ? null : firstDayBeyond(after, descending)[2];
  const days = await listTimeDays(db, slice, { tier, from, descending, limit });
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  if (first === undefined || last === undefined) return { days, end: null };
  const end = days.length < limit ? null : dayEdge(tenantOf(slice), last, descending);
  if (ofStores === 0) return { days, end };
  const between = descending ? { first: last, last: first } : { first, last };
  return { days: await listTaggedDays(db, slice, { tier, ...between, descending }), end };
}

function tenantOf({ tenant }: Slice): string {
  if (tenant === undefined) throw new Error('only the records of one tenant are read by time');
  return tenant;
}
