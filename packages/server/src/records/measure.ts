import type { Queryable } from '../platform/postgres/database.ts';
import { sumLeafDays, sumRecords } from './queries.ts';
import { isCounted, type Slice } from './slice.ts';

/** Records of a slice and their bytes: from the counters wherever they can tell, else by counting. */
export function measureSlice(
  db: Queryable,
  slice: Slice,
): Promise<{ count: number; bytes: number }> {
  return isCounted(slice) ? sumLeafDays(db, slice) : sumRecords(db, slice);
}
