import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/cold-reader.ts';
import { createColdTier } from './cold-parquet.ts';
import { createHotTier } from './hot-postgres.ts';
import { mergeTiers } from './merge.ts';
import type { Tier } from './tier.ts';

/** All records, wherever they lie. */
export function createTiers(db: Database, cold: ColdReader): Tier {
  return mergeTiers(createHotTier(db), createColdTier(db, cold));
}
