import { addDays } from '../../kernel/day.ts';
import type { RecordKey } from '../queries.ts';
import type { DayInSegment, DayKey, Segment } from './queries.ts';

/** Rows of a segment's object, both with, counted from 0. */
export type RowRange = readonly [first: number, last: number];

type SegmentPart = { readonly segment: Segment; readonly ranges: readonly RowRange[] };

export type ScanPlan = {
  /** The days it reads, whole or as much of them as the limit asks for. */
  readonly days: readonly DayInSegment[];
  readonly parts: readonly SegmentPart[];
  /** Upper bounds of what is read. */
  readonly rowCount: number;
  readonly bytes: number;
  /** The key up to which the plan reaches; null = to the last day of the catalogue that was asked for. */
  readonly end: RecordKey | null;
  /** Whether more days would not have been read anyway. */
  readonly isFull: boolean;
};

export type PlanOptions = {
  after: RecordKey | null;
  descending: boolean;
  /** Records, at most. */
  limit: number;
  /** Whether the catalogue has days behind the last one given. */
  mayBeMore: boolean;
};

/** Segments that one scan opens, at most; more only where one store's day lies in more. */
export const maxSegments = 16;

/**
 * Picks from days in the order of reading as many as hold `limit` records, and from them the rows that
 * can be among these. The day of `after` counts as none: how many of its records lie beyond is unknown.
 */
export function planScan(days: readonly DayInSegment[], options: PlanOptions): ScanPlan {
  const { after, descending, limit } = options;
  const cursorDay = after === null ? null : firstDayBeyond(after, descending);
  const ranges = new Map<string, { segment: Segment; ranges: RowRange[] }>();
  const picked: DayInSegment[] = [];
  let [sure, rowCount, bytes, isFull] = [0, 0, 0, false];
  for (const group of groupByDay(days)) {
    const added = group.filter((day) => !ranges.has(segmentKey(day))).length;
    isFull = sure >= limit || (picked.length > 0 && ranges.size + added > maxSegments);
    if (isFull) break;
    const isBegun = cursorDay !== null && isSameDay(group[0], cursorDay);
    for (const day of group) {
      const rows = isBegun ? day.count : Math.min(day.count, limit - sure);
      if (rows === 0) continue;
      const part = ranges.get(segmentKey(day)) ?? { segment: day, ranges: [] };
      part.ranges.push(rangeOf(day, rows, descending));
      ranges.set(segmentKey(day), part);
      rowCount += rows;
      bytes += day.bytes;
    }
    picked.push(...group);
    if (!isBegun) sure += group.reduce((sum, day) => sum + day.count, 0);
  }
  const last = picked.at(-1);
  return {
    days: picked,
    parts: [...ranges.values()].map((part) => ({ ...part, ranges: coalesce(part.ranges) })),
    rowCount,
    bytes,
    end: (isFull || options.mayBeMore) && last !== undefined ? boundary(last, descending) : null,
    isFull: isFull || sure >= limit,
  };
}

export function storeDayOf(key: RecordKey): DayKey {
  return [key[0], key[1], key[2].slice(0, 10)];
}

/** The first day that may hold records beyond a key. */
export function firstDayBeyond(key: RecordKey, descending: boolean): DayKey {
  const [tenant, store, day] = storeDayOf(key);
  const isBoundary = descending && key[3] === '' && key[2] === `${day}T00:00:00.000000Z`;
  // To read the day behind a boundary once more could use up all segments of a scan, again and again.
  return isBoundary ? [tenant, store, addDays(day, -1)] : [tenant, store, day];
}

/** The key of no record that lies behind the last record of a store's day, in the order of reading. */
export function boundary(
  day: { tenant: string; store: string; day: string },
  descending: boolean,
): RecordKey {
  const midnight = descending ? day.day : addDays(day.day, 1);
  return [day.tenant, day.store, `${midnight}T00:00:00.000000Z`, ''];
}

/** Keeps of the ranges what lies from `first` to `last`. */
export function clip(ranges: readonly RowRange[], [first, last]: RowRange): RowRange[] {
  return ranges
    .filter((range) => range[1] >= first && range[0] <= last)
    .map((range) => [Math.max(range[0], first), Math.min(range[1], last)]);
}

/** Whether a key is of this store's day. */
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

/** Ranges in ascending order, those that touch as one. */
export function coalesce(ranges: readonly RowRange[]): RowRange[] {
  const whole: RowRange[] = [];
  for (const range of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = whole.at(-1);
    if (before !== undefined && range[0] <= before[1] + 1) {
      whole[whole.length - 1] = [before[0], Math.max(before[1], range[1])];
    } else {
      whole.push(range);
    }
  }
  return whole;
}
