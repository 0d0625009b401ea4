import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';
import type { Slice } from '../slice/slice.ts';

export type ScanOptions = {
  /** The key after which reading goes on. With `isInclusive` it begins at that key itself. */
  after: RecordKey | null;
  isInclusive?: boolean | undefined;
  descending: boolean;
  /** How many records are wanted at most. */
  limit: number;
  /** Records after this key are not wanted. */
  until?: RecordKey | null | undefined;
};

/** Some of a slice's records, in the order in which they were read. */
export type Scan = {
  rows: RecordRow[];
  /**
   * How far the scan has looked: all records of the slice up to this key, including it, are in `rows`. No record need
   * have this key. Null means to the end of the slice, or to `until`.
   */
  end: RecordKey | null;
};

/** A place where records lie. Both tiers give exactly the same answers for the same records. */
export type Tier = {
  /**
   * Reads a limited part of the slice: at most `limit` records, at most 8 MiB, and, with a filter on something that
   * only the record itself tells, such as its kind, at most 10,000 records looked at.
   */
  scan(slice: Slice, options: ScanOptions): Promise<Scan>;
  /** Returns the record with this key; undefined when this tier has none. */
  find(key: RecordKey): Promise<RecordRow | undefined>;
};

/**
 * Returns the order of records: negative when `a` is read before `b`. Text compares by its UTF-8 bytes, as in the
 * tiers.
 */
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
 * Compares text by its UTF-8 bytes. JavaScript compares UTF-16 units, by which the halves of an emoji come before
 * U+E000 to U+FFFF; in UTF-8 they come after.
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

/** Returns the last key of rows that were cut because of their number or their bytes; null when they were not cut. */
export function cutAt(rows: readonly RecordRow[], limit: number): RecordKey | null {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const isCut = rows.length >= limit || rows.reduce((sum, row) => sum + row.bytes, 0) >= pageBytes;
  return isCut ? keyOf(last) : null;
}
