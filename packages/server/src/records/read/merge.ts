import type { Database } from '../../platform/postgres/database.ts';
import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';
import type { ColdReader } from '../segments/segment.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { createColdTier } from './cold-parquet.ts';
import { createHotTier } from './hot-postgres.ts';
import { compareKeys, cutAt, type Scan, type ScanOptions, type Tier } from './tier.ts';

/** Scans in a row, at most, to fill one page: each opens few segments. */
const maxRounds = 8;

/**
 * Both tiers as one. Hot is read before the catalogue of the cold one: a record that moves in between is
 * seen in both and shown once; the other way round it could be seen in neither.
 */
export function mergeTiers(hot: Tier, cold: Tier): Tier {
  return {
    async scan(slice, options) {
      let merged = await scanOnce(slice, options);
      // A page is as full as if all of it were hot, however many small segments it comes from.
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

/** Whether a scan stopped for another reason than a full page. Behind a filter, stopping early is meant. */
function isShort(slice: Slice, scan: Scan, options: ScanOptions): boolean {
  return isCounted(slice) && scan.end !== null && cutAt(scan.rows, options.limit) === null;
}

/** The records of two scans of the same stretch, as far as both have looked. */
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

/** Rows cut to the limit and to 8 MiB, as the tiers themselves cut. */
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

/** All records, wherever they lie. */
export function createTiers(db: Database, cold: ColdReader): Tier {
  return mergeTiers(createHotTier(db), createColdTier(db, cold));
}

/**
 * Some records of a slice, half of them from each end of it; fewer behind filters, see `Tier`. Of a small
 * slice some come twice. Throws 500 `segment_damaged`.
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
