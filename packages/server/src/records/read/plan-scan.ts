import { addDays } from '../../kernel/day.ts';
import type { RecordKey, Times } from '../queries.ts';
import { joinRanges, type RowRange } from '../segments/row-ranges.ts';
import { firstDay } from '../slice/slice.ts';
import { maxSegments, type SegmentRows } from './open-segments.ts';
import type { DayInSegment, DayKey, Segment, WholeSegment } from './queries.ts';

/** Which rows of which segments one scan reads, and how far it gets with them. */
export type ScanPlan = {
  readonly parts: readonly SegmentRows[];
  /** Upper bounds of what is read. */
  readonly rowCount: number;
  readonly bytes: number;
  /** The key up to which the plan reaches; null when it reaches to the last day that the catalogue was asked for. */
  readonly end: RecordKey | null;
  /** Whether further days would not be read in any case. */
  readonly isFull: boolean;
};

export type PlanOptions = {
  after: RecordKey | null;
  descending: boolean;
  /** How many records are wanted at most. */
  limit: number;
  /** Whether the catalogue has days after the last one given. */
  mayBeMore: boolean;
  /** Whether no day is read in part, as it must be where all rows of the plan are searched. */
  areWhole?: boolean;
};

/**
 * Picks from days in the order of reading as many as hold `limit` records, and from these days the rows that may be
 * among those records. The day of `after` counts as empty, because nobody knows how many of its records come after that
 * key.
 */
export function planScan(days: readonly DayInSegment[], options: PlanOptions): ScanPlan {
  const { after, descending, limit, areWhole = false } = options;
  const cursorDay = after === null ? null : firstDayBeyond(after, descending);
  const ranges = new Map<string, { segment: Segment; ranges: RowRange[] }>();
  let last: DayInSegment | undefined;
  let [sure, rowCount, bytes, isFull] = [0, 0, 0, false];
  for (const group of groupByDay(days)) {
    const added = group.filter((day) => !ranges.has(segmentKey(day))).length;
    isFull = sure >= limit || (last !== undefined && ranges.size + added > maxSegments);
    if (isFull) break;
    const isBegun = cursorDay !== null && isSameDay(group[0], cursorDay);
    for (const day of group) {
      const rows = isBegun || areWhole ? day.count : Math.min(day.count, limit - sure);
      if (rows === 0) continue;
      const part = ranges.get(segmentKey(day)) ?? { segment: day, ranges: [] };
      part.ranges.push(rangeOf(day, rows, descending));
      ranges.set(segmentKey(day), part);
      rowCount += rows;
      bytes += day.bytes;
    }
    last = group.at(-1);
    if (!isBegun) sure += group.reduce((sum, day) => sum + day.count, 0);
  }
  return {
    parts: [...ranges.values()].map((part) => ({ ...part, ranges: joinRanges(part.ranges) })),
    rowCount,
    bytes,
    end: (isFull || options.mayBeMore) && last !== undefined ? boundary(last, descending) : null,
    isFull: isFull || sure >= limit,
  };
}

/** Plans to search segments whole, of which `times` says more. */
export function planWhole(
  segments: readonly WholeSegment[],
  end: RecordKey | null,
  times?: Times,
): ScanPlan {
  const sum = (of: 'count' | 'bytes') => segments.reduce((total, one) => total + one[of], 0);
  return {
    rowCount: sum('count'),
    bytes: sum('bytes'),
    end,
    isFull: false,
    parts: segments.map((segment) => ({
      segment,
      ranges: [[0, segment.count - 1] as const],
      ...(times && { times }),
    })),
  };
}

export function storeDayOf(key: RecordKey): DayKey {
  return [key[0], key[1], key[2].slice(0, 10)];
}

/** Returns the first day that may hold records after a key. */
export function firstDayBeyond(key: RecordKey, descending: boolean): DayKey {
  const [tenant, store, day] = storeDayOf(key);
  const isBoundary = descending && key[3] === '' && key[2] === `${day}T00:00:00.000000Z`;
  // The day after a boundary has been read. To read it again could use up all the segments of a scan, again and again,
  // and the list would not move on.
  return isBoundary ? [tenant, store, addDays(day, -1)] : [tenant, store, day];
}

/** Returns a key that no record has, directly after the last record of a store's day in the order of reading. */
export function boundary(
  day: { tenant: string; store: string; day: string },
  descending: boolean,
): RecordKey {
  const midnight = descending ? day.day : addDays(day.day, 1);
  return [day.tenant, day.store, `${midnight}T00:00:00.000000Z`, ''];
}

/** Returns a key that no record has, directly after all records of a tenant in the order of reading. */
export function beyondTenant(tenant: string, descending: boolean): RecordKey {
  // No name has control characters, so none comes before this one and after the tenant's.
  const name = descending ? tenant : `${tenant}\u0001`;
  return [name, '', `${firstDay}T00:00:00.000000Z`, ''];
}

/** Returns the tenants that may have records after a key, as a comparison with its tenant. */
export function tenantsBeyond([, store]: RecordKey, descending: boolean): '>=' | '<=' | '<' {
  if (!descending) return '>=';
  return store === '' ? '<' : '<=';
}

/** Returns whether a key belongs to this day of a store. */
export function isDayOf(day: DayInSegment, key: RecordKey): boolean {
  return isSameDay(day, storeDayOf(key));
}

function* groupByDay(days: readonly DayInSegment[]): Generator<DayInSegment[]> {
  let group: DayInSegment[] = [];
  for (const day of days) {
    if (group.length > 0 && !isSameDay(group[0], [day.tenant, day.store, day.day])) {
      yield group;
      group = [];
    }
    group.push(day);
  }
  if (group.length > 0) yield group;
}

function isSameDay(day: DayInSegment | undefined, [tenant, store, date]: DayKey): boolean {
  return day?.tenant === tenant && day.store === store && day.day === date;
}

function segmentKey(day: DayInSegment): string {
  return `${day.tenant}/${day.segment_id}`;
}

function rangeOf(day: DayInSegment, rows: number, descending: boolean): RowRange {
  const skipped = descending ? day.count - rows : 0;
  return [day.first_row + skipped, day.first_row + skipped + rows - 1];
}
