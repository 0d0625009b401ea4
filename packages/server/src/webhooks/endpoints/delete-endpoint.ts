import { newId } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { cancelBacklogJobs, discardOfEndpoint } from '../dead-letters/discard.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { type Caller, found, showEndpoint, toEndpointId } from './endpoints.ts';
import { countLiveDeliveries, insertDiscardJob, lockEndpoint, markDeleted } from './queries.ts';

/** Rows that a call itself discards: half a second's work. The rest is a job. */
export const discardedAtOnce = 5000;

/**
 * Deletes an endpoint and discards what was not delivered to it. A delivery that an incident makes at
 * this very moment is discarded by the drainer that meets it. Throws 404 `endpoint_not_found`.
 */
export async function deleteEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'audit'>,
  caller: Caller,
  request: { id: string },
): Promise<void> {
  const { actor } = caller;
  const id = toEndpointId(request.id);
  const hasMore = await db.transaction(async (connection) => {
    // The endpoint, its deliveries, their counts: the order in which an attempt's outcome is written, too.
    const before = showEndpoint(found(await lockEndpoint(connection, id, actor.tenants)));
    await markDeleted(connection, id);
    await cancelBacklogJobs(connection, [id]);
    const discarded = await discardOfEndpoint(connection, id, discardedAtOnce);
    const left =
      discarded < discardedAtOnce
        ? 0
        : await countLiveDeliveries(connection, { id, lane: laneOf(id), parked: true });
    if (left > 0) {
      await insertDiscardJob(connection, {
        id: newId('job'),
        action: 'discard',
        endpointId: id,
        rows: left,
        createdBy: actor.name,
      });
    }
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.delete',
      target: id,
      tenant: before.tenant,
      before,
      after: { discarded: discarded + left },
    });
    return left > 0;
  });
  if (hasMore) options.jobs.poke();
}
