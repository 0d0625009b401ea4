import { newId } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { discardOfEndpoint } from '../dead-letters/discard.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { type Caller, found, getEndpoint, toEndpointId } from './endpoints.ts';
import { cancelBacklogJob, countLiveDeliveries, insertDiscardJob, markDeleted } from './queries.ts';

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
    const before = await getEndpoint(connection, actor, id);
    // The endpoint, its deliveries, their counts: the order in which an attempt's outcome is written, too.
    if (!(await markDeleted(connection, id, actor.tenants))) found(undefined);
    await cancelBacklogJob(connection, id);
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
