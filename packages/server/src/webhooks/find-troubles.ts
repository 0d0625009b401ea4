import type { Queryable } from '../platform/postgres/database.ts';
import { sumCounts } from './dead-letters/read-queries.ts';
import { showEndpoint } from './endpoints/endpoints.ts';
import { disableFailing, type FailingEndpoint, listFailing } from './endpoints/trouble-queries.ts';

export type { FailingEndpoint } from './endpoints/trouble-queries.ts';

/** What somebody should be told of: dead letters without attempts left, and endpoints by what is wrong with them. */
export async function findTroubles(
  db: Queryable,
): Promise<{ abandoned: number; endpoints: FailingEndpoint[] }> {
  return {
    abandoned: await sumCounts(db, { statuses: ['abandoned'], tenants: null }),
    endpoints: await listFailing(db),
  };
}

/**
 * Disables those of these endpoints that have failed for as long as their settings say, and returns them as they are then.
 * What is queued for them waits, as when an operator disables them.
 */
export async function disableFailingEndpoints(db: Queryable, ids: readonly string[]) {
  return ids.length === 0 ? [] : (await disableFailing(db, ids)).map(showEndpoint);
}
