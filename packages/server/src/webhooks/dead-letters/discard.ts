import type { Queryable } from '../../platform/postgres/database.ts';
import { cancelBacklogJobs, discardBacklog, enableEndpoint } from './queries.ts';

export { cancelBacklogJobs, discardOfEndpoint } from './queries.ts';

/**
 * Discards up to `limit` rows that wait for a disabled endpoint, and enables it when that were all: what
 * is reported from then on is delivered. Call it in a transaction that has locked the endpoint.
 */
export async function discardThenEnable(
  db: Queryable,
  endpointId: string,
  limit: number,
): Promise<{ discarded: number; isEnabled: boolean }> {
  const discarded = await discardBacklog(db, endpointId, limit);
  const isEnabled = discarded < limit;
  if (isEnabled) {
    await enableEndpoint(db, endpointId);
    await cancelBacklogJobs(db, [endpointId]);
  }
  return { discarded, isEnabled };
}
