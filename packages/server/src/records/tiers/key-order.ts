import type { RecordKey, RecordRow } from '../queries.ts';

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
