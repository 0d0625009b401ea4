import type { Queryable } from '../platform/postgres/database.ts';
import { sumCounts } from './dead-letters/read-queries.ts';
import { showEndpoint } from './endpoints/endpoints.ts';
import { countTroubled, disableFailing } from './endpoints/trouble-queries.ts';

/** How many deliveries have no attempts left, and how many endpoints fare ill, within a caller's reach. */
export async function countTroubles(db: Queryable, tenants: readonly string[] | null) {
  return {
    abandoned: await sumCounts(db, { statuses: ['abandoned'], tenants }),
    ...(await countTroubled(db, tenants)),
  };
}

/**
 * Disables those of these endpoints that have failed for as long as their settings say, and returns them as they are then.
 * What is queued for them waits, as when an operator disables them.
 */
export async function disableFailingEndpoints(db: Queryable, ids: readonly string[]) {
  return ids.length === 0 ? [] : (await disableFailing(db, ids)).map(showEndpoint);
}
