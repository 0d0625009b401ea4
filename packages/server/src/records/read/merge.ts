import type { Database } from '../../platform/postgres/database.ts';
import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';
import type { ColdReader } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { createColdTier } from './cold-parquet.ts';
import { createHotTier } from './hot-postgres.ts';
import { compareKeys, cutAt, type Scan, type ScanOptions, type Tier } from './tier.ts';

/** One page is filled with at most this many scans, because each scan opens only a few segments. */
const maxRounds = 8;

/**
 * Reads both tiers as one. The hot tier is read before the catalogue of the cold one: a record that moves in between is
 * then seen in both and shown once. In the other order it might be seen in neither.
 */
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
function mergeScans(a: Scan, b: Scan, options: { descending: boolean; limit: number }): Scan {
  const sign = options.descending ? -1 : 1;
  const order = (x: RecordKey, y: RecordKey) => sign * compareKeys(x, y);
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

/** Reads all records of both tiers. */
export function createTiers(db: Database, cold: ColdReader): Tier {
  return mergeTiers(createHotTier(db), createColdTier(db, cold));
}

/**
 * Returns some records of a slice, half of them from each end of it. With filters there may be fewer, see `Tier`.
 * Records of a small slice may be returned twice. Throws 500 `segment_damaged`.
 */
export async function sampleRecords(
  source: { db: Database; cold: ColdReader },
  slice: Slice,
  limit: number,
): Promise<RecordRow[]> {
  const tiers = createTiers(source.db, source.cold);
  const half = Math.ceil(limit / 2);
  const first = await tiers.scan(slice, { after: null, descending: false, limit: half });
  const last = await tiers.scan(slice, { after: null, descending: true, limit: half });
  return [...first.rows, ...last.rows];
}
