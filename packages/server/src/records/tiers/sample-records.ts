import type { Database } from '../../platform/postgres/database.ts';
import type { RecordRow } from '../queries.ts';
import type { ColdReader } from '../segments/cold-reader.ts';
import type { Slice } from '../slice.ts';
import { createTiers } from './create-tiers.ts';

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
