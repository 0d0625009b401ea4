import type { Database } from '../../platform/postgres/database.ts';
import * as queries from '../queries.ts';
import { isCounted } from '../slice.ts';
import { cutAt } from './cut.ts';
import type { Scan, Tier } from './tier.ts';

/** Records that one scan looks at behind a filter, at most: 10,000 take about 15 ms. */
export const scanLimit = 10_000;

/** The records in PostgreSQL. */
export function createHotTier(db: Database): Tier {
  return {
    async scan(slice, options) {
      if (isCounted(slice)) {
        const rows = await queries.listRecords(db, slice, { ...options, scanLimit: null });
        return { rows, end: cutAt(rows, options.limit) };
      }
      // One snapshot: what is written in between would move the end of the scan.
      return db.transaction(
        async (connection): Promise<Scan> => {
          const scan = { ...options, scanLimit };
          const rows = await queries.listRecords(connection, slice, scan);
          const end = cutAt(rows, options.limit);
          return { rows, end: end ?? (await queries.findScanEnd(connection, slice, scan)) ?? null };
        },
        { isolation: 'repeatable read' },
      );
    },
    find: (key) => queries.findRecord(db, key),
  };
}
