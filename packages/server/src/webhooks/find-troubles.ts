import type { Queryable } from '../platform/postgres/database.ts';
import { sumCounts } from './dead-letters/read-queries.ts';
import { type FailingEndpoint, listFailing } from './endpoints/queries.ts';

export type { FailingEndpoint } from './endpoints/queries.ts';

/** What somebody should be told of: dead letters without attempts left, and endpoints by what is wrong with them. */
export async function findTroubles(
  db: Queryable,
): Promise<{ abandoned: number; endpoints: FailingEndpoint[] }> {
  return {
    abandoned: await sumCounts(db, { statuses: ['abandoned'], tenants: null }),
    endpoints: await listFailing(db),
  };
}
