import type { Database, Queryable } from '../../platform/postgres/database.ts';
import * as queries from '../queries.ts';
import { isCounted, type Slice } from '../slice.ts';
import { cutAt } from './cut.ts';
import { findHotStretches, type HotStretches } from './hot-stretches.ts';
import type { Scan, ScanOptions, Tier } from './tier.ts';

/** Records that one scan looks at behind a filter, at most: 10,000 take about 15 ms. */
export const scanLimit = 10_000;

/** The records in PostgreSQL. */
export function createHotTier(db: Database): Tier {
  return {
    async scan(slice, options) {
      if (isCounted(slice)) return scanWhole(db, slice, options);
      // One snapshot: what is written in between would move the end of the scan.
      return db.transaction((connection) => scanFiltered(connection, slice, options), {
        isolation: 'repeatable read',
      });
    },
    find: (key) => queries.findRecord(db, key),
  };
}

async function scanWhole(db: Queryable, slice: Slice, options: ScanOptions): Promise<Scan> {
  const { stretches, end } = await findStretches(db, slice, options);
  if (stretches?.length === 0) return { rows: [], end };
  const rows = await queries.listRecords(db, slice, { ...options, stretches, scanLimit: null });
  return { rows, end: cutAt(rows, options.limit) ?? end };
}

async function scanFiltered(db: Queryable, slice: Slice, options: ScanOptions): Promise<Scan> {
  const found = await findStretches(db, slice, { ...options, limit: scanLimit });
  if (found.stretches?.length === 0) return { rows: [], end: found.end };
  const scan = { ...options, stretches: found.stretches, scanLimit };
  const rows = await queries.listRecords(db, slice, scan);
  const end = cutAt(rows, options.limit) ?? (await queries.findScanEnd(db, slice, scan));
  return { rows, end: end ?? found.end };
}

/** Without a dataset the slice is read as it is: its records follow each other in the key's order. */
function findStretches(
  db: Queryable,
  slice: Slice,
  options: ScanOptions,
): Promise<HotStretches> | { stretches: undefined; end: null } {
  if (slice.dataset === undefined) return { stretches: undefined, end: null };
  return findHotStretches(db, slice, options);
}
