import { compareText } from '../../kernel/names.ts';
import { keyOf, pageBytes, type RecordKey, type RecordRow, type RowScan } from '../queries.ts';
import { isCounted, type Slice } from '../slice/slice.ts';

export type ScanOptions = Pick<RowScan, 'after' | 'isInclusive' | 'descending' | 'limit'> & {
  /** Whether the records of a tenant are read by their times, instead of store by store. */
  isByTime?: boolean | undefined;
  /** Records after this key are not wanted. */
  until?: RecordKey | null | undefined;
};

/** Some of a slice's records, in the order in which they were read. */
export type Scan = {
  rows: RecordRow[];
  /** How far it looked: all records up to this key are in `rows`. Null: to the end of the slice, or `until`. */
  end: RecordKey | null;
};

/** How many records a scan with a filter looks at. Tests use small numbers. */
export type ScanLimits = {
  /** 10,000 take about 15 ms. */
  readonly filtered: number;
  /** With a `where`, which reads records whole, a scan ends after so many bytes of them. Each comparison takes about 0.1 s for them. */
  readonly bytes: number;
  /** Of cold records with an event id: it stands in a column of its own. A million take about 0.3 s. */
  readonly ofEvent: number;
  /** How many days of stores the search for an event looks up. */
  readonly days: number;
  /** In how many filters of segments an event is looked up, if no tenant is given. 10,000 take about 0.1 s. */
  readonly filters: number;
};

export const usualLimits: ScanLimits = {
  filtered: 10_000,
  bytes: 16 * 1024 * 1024,
  ofEvent: 1_000_000,
  days: 20_000,
  filters: 20_000,
};

/** A place where records lie. Both tiers give exactly the same answers for the same records. */
export type Tier = {
  /**
   * Reads a limited part of the slice: at most `limit` records, at most 8 MiB, and, with a filter on something that
   * only the record itself tells, such as its kind, at most as many records looked at as `ScanLimits` say.
   */
  scan(slice: Slice, options: ScanOptions): Promise<Scan>;
  /** Returns the record with this key; undefined when this tier has none. */
  find(key: RecordKey): Promise<RecordRow | undefined>;
};

/** Returns the order of records: negative when `a` comes first. Text compares by its UTF-8 bytes, as in the tiers. */
export function compareKeys(a: RecordKey, b: RecordKey): number {
  return (
    compareText(a[0], b[0]) ||
    compareText(a[1], b[1]) ||
    compareText(a[2], b[2]) ||
    compareText(a[3], b[3])
  );
}

/** Returns the order of keys by time, in which those of one tenant can be. */
export function compareTimes(a: RecordKey, b: RecordKey): number {
  return compareText(a[2], b[2]) || compareText(a[1], b[1]) || compareText(a[3], b[3]);
}

/** Returns the last key of rows that were cut because of their number or their bytes; null when they were not cut. */
export function cutAt(rows: readonly RecordRow[], limit: number): RecordKey | null {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const isCut = rows.length >= limit || rows.reduce((sum, row) => sum + row.bytes, 0) >= pageBytes;
  return isCut ? keyOf(last) : null;
}

/** One page is filled with at most this many scans, because each scan opens only a few segments. */
const maxRounds = 8;

/** Reads both tiers as one, hot first: a record that moves is then seen twice and shown once, and never missed. */
export function mergeTiers(hot: Tier, cold: Tier): Tier {
  return {
    async scan(slice, options) {
      let merged = await scanOnce(slice, options);
      // A page is as full as if all records were hot, however many small segments it comes from.
      for (let round = 1; round < maxRounds && isShort(slice, merged, options); round++) {
        const { rows, end } = merged;
        const rest = { ...options, after: end, isInclusive: false };
        const more = await scanOnce(slice, { ...rest, limit: options.limit - rows.length });
        merged = cut([...rows, ...more.rows], more.end, options.limit);
      }
      return merged;
    },
    find: async (key) => (await hot.find(key)) ?? (await cold.find(key)),
  };

  async function scanOnce(slice: Slice, options: ScanOptions): Promise<Scan> {
    const fromHot = await hot.scan(slice, options);
    const fromCold = await cold.scan(slice, { ...options, until: fromHot.end });
    return mergeScans(fromHot, fromCold, options);
  }
}

/** Returns whether a scan ended before the page was full. With a filter that is intended and does not count. */
function isShort(slice: Slice, scan: Scan, options: ScanOptions): boolean {
  return isCounted(slice) && scan.end !== null && cutAt(scan.rows, options.limit) === null;
}

/** Merges two scans of the same stretch, as far as both have looked. A record that is in both is kept once. */
function mergeScans(
  a: Scan,
  b: Scan,
  options: Pick<ScanOptions, 'descending' | 'isByTime' | 'limit'>,
): Scan {
  const sign = options.descending ? -1 : 1;
  const compare = options.isByTime ? compareTimes : compareKeys;
  const order = (x: RecordKey, y: RecordKey) => sign * compare(x, y);
  const end = nearer(a.end, b.end, order);
  const rows: RecordRow[] = [];
  let [atA, atB] = [0, 0];
  for (;;) {
    const [x, y] = [a.rows[atA], b.rows[atB]];
    if (x === undefined && y === undefined) break;
    const difference = x === undefined ? 1 : y === undefined ? -1 : order(keyOf(x), keyOf(y));
    const next = difference <= 0 ? x : y;
    if (difference <= 0) atA += 1;
    if (difference >= 0) atB += 1;
    if (next === undefined || (end !== null && order(keyOf(next), end) > 0)) break;
    rows.push(next);
  }
  return cut(rows, end, options.limit);
}

/** Cuts rows to the limit and to 8 MiB, in the same way as the tiers cut theirs. */
function cut(rows: RecordRow[], end: RecordKey | null, limit: number): Scan {
  let bytes = 0;
  let length = 0;
  for (const row of rows) {
    if (length === limit || bytes >= pageBytes) break;
    bytes += row.bytes;
    length += 1;
  }
  const kept = rows.slice(0, length);
  return { rows: kept, end: cutAt(kept, limit) ?? end };
}

function nearer(
  a: RecordKey | null,
  b: RecordKey | null,
  order: (x: RecordKey, y: RecordKey) => number,
): RecordKey | null {
  if (a === null || b === null) return a ?? b;
  return order(a, b) <= 0 ? a : b;
}
