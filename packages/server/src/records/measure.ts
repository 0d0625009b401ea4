import type { Database, Queryable } from '../platform/postgres/database.ts';
import { sumLeafDays, sumRecords } from './queries.ts';
import type { ColdReader } from './segments/cold-reader.ts';
import { isCounted, type Slice } from './slice.ts';
import { readTwice } from './tiers/open-segments.ts';
import { listSegments, sumSegments } from './tiers/sum-segments.ts';

export type Measure = { count: number; bytes: number };

/**
 * Records of a slice and their bytes: from the counters wherever they can tell, else by counting in both
 * tiers. Given a connection, its transaction must hold one snapshot. Throws 500 `segment_damaged`.
 */
export async function measureSlice(
  db: Database | Queryable,
  slice: Slice,
  cold?: ColdReader,
): Promise<Measure> {
  if (isCounted(slice)) return sumLeafDays(db, slice);
  return readTwice(async () => {
    // One snapshot: what moves in between would be counted twice or not at all.
    const { hot, segments } = await inSnapshot(db, async (connection) => ({
      hot: await sumRecords(connection, slice),
      segments: await listSegments(connection, slice),
    }));
    if (segments.length === 0) return hot;
    if (cold === undefined) throw new Error('the slice has cold records and nothing to read them');
    const sum = await sumSegments(cold, segments, slice);
    return { count: hot.count + sum.count, bytes: hot.bytes + sum.bytes };
  });
}

function inSnapshot<T>(db: Database | Queryable, work: (db: Queryable) => Promise<T>): Promise<T> {
  return 'transaction' in db ? db.transaction(work, { isolation: 'repeatable read' }) : work(db);
}
