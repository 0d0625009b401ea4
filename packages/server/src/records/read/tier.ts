import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';
import type { Slice } from '../slice/slice.ts';

export type ScanOptions = {
  /** Read on beyond this key, or from it on. */
  after: RecordKey | null;
  isInclusive?: boolean | undefined;
  descending: boolean;
  /** Records, at most. */
  limit: number;
  /** What lies beyond this key is not asked for. */
  until?: RecordKey | null | undefined;
};

/** Some of a slice's records, in the order they were read. */
export type Scan = {
  rows: RecordRow[];
  /**
   * How far it has looked: all records of the slice up to and with this key are in `rows`. It may be the
   * key of no record. Null = to the end of the slice, or to `until`.
   */
  end: RecordKey | null;
};

/** Where records lie. Both tiers give the same answers for the same records, to the letter. */
export type Tier = {
  /**
   * Reads a bounded stretch of the slice: at most `limit` records, 8 MiB, and behind filters on what only
   * a record tells, such as its kind, 10,000 records looked at.
   */
  scan(slice: Slice, options: ScanOptions): Promise<Scan>;
  find(key: RecordKey): Promise<RecordRow | undefined>;
};

/** The order of records: below 0 when `a` is read before `b`. Text compares by its UTF-8 bytes. */
export function compareKeys(a: RecordKey, b: RecordKey): number {
  return (
    compareText(a[0], b[0]) ||
    compareText(a[1], b[1]) ||
    compareText(a[2], b[2]) ||
    compareText(a[3], b[3])
  );
}

export function compareRows(a: RecordRow, b: RecordRow): number {
  return (
    compareText(a.tenant, b.tenant) ||
    compareText(a.store, b.store) ||
    compareText(a.occurred_at, b.occurred_at) ||
    compareText(a.event_id, b.event_id)
  );
}

/**
 * JavaScript compares UTF-16 units, where the halves of an emoji come before U+E000 … U+FFFF. In UTF-8
 * they come after.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at === length ? a.length - b.length : lift(a.charCodeAt(at)) - lift(b.charCodeAt(at));
}

function lift(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The last key of rows that were cut short by their number or their bytes; null when they were not. */
export function cutAt(rows: readonly RecordRow[], limit: number): RecordKey | null {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const isCut = rows.length >= limit || rows.reduce((sum, row) => sum + row.bytes, 0) >= pageBytes;
  return isCut ? keyOf(last) : null;
}
