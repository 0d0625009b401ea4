import type { Database, Queryable } from '../../platform/postgres/database.ts';
import * as queries from './queries.ts';
import { discardBacklog, enableEndpoint } from './queries.ts';

export { cancelBacklogJobs, discardOfEndpoint } from './queries.ts';

/**
 * Discards up to `limit` deliveries that wait for a disabled endpoint and were made until `until` (null: until the
 * transaction began), and enables the endpoint if these were all. What was made later is then delivered. Must be called
 * in a transaction that has locked the endpoint.
 */
export async function discardThenEnable(
  db: Queryable,
  endpointId: string,
  options: { limit: number; until: string | null },
): Promise<{ discarded: number; isEnabled: boolean }> {
  const discarded = await discardBacklog(db, endpointId, options);
  const isEnabled = discarded < options.limit;
  if (isEnabled) await enableEndpoint(db, endpointId);
  return { discarded, isEnabled };
}

/**
 * Abandons, in batches, what has waited for a disabled endpoint for more than `days` days. It is then in the
 * dead-letter queue and can be retried once the endpoint is enabled. The endpoint is locked, so that nothing is
 * abandoned that an operator has just let go by enabling it.
 */
export async function giveUpWaiting(
  db: Database,
  options: { days: number; signal: AbortSignal; batchSize: number },
): Promise<void> {
  const { days, signal, batchSize } = options;
  for (const endpointId of await queries.findOverdueEndpoints(db, days)) {
    let count = batchSize;
    while (count === batchSize && !signal.aborted) {
      count = await db.transaction(async (connection) => {
        const locked = await queries.tryLockEndpoint(connection, endpointId);
        if (!locked?.is_disabled) return 0;
        const limit = batchSize;
        const rows = await queries.abandonOverdue(connection, endpointId, { days, limit });
        const count = (row: Omit<queries.CountDelta, 'endpointId'>) => ({ endpointId, ...row });
        await queries.shiftCounts(
          connection,
          rows.flatMap(({ tenant, status, failure_class: failureClass }) => [
            ...(status === 'pending' && failureClass !== null
              ? [count({ tenant, status, failureClass, delta: -1 })]
              : []),
            count({ tenant, status: 'abandoned', failureClass: 'endpoint_disabled', delta: 1 }),
          ]),
        );
        return rows.length;
      });
    }
  }
}

/** Whatever moves deliveries into or out of `pending` and `abandoned` has to call this. */
export { type CountDelta, shiftCounts } from './queries.ts';
