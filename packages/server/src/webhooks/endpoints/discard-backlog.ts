import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { discardThenEnable } from '../dead-letters/discard.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { discardedAtOnce } from './delete-endpoint.ts';
import { type Caller, found, getEndpoint, showEndpoint, toEndpointId } from './endpoints.ts';
import { countLiveDeliveries, insertDiscardJob, lockEndpoint } from './queries.ts';

/**
 * Enables an endpoint without what waits for it: that is discarded. A large backlog is a job, and the
 * endpoint stays disabled until its end: nothing of it can go out meanwhile, whoever is killed when. To
 * enable or disable the endpoint ends the job. Throws 404 `endpoint_not_found`, 409 `endpoint_enabled`.
 */
export async function discardBacklogOf(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'wakeUp' | 'audit'>,
  caller: Caller,
  request: { id: string },
) {
  const { actor } = caller;
  const id = toEndpointId(request.id);
  const after = await db.transaction(async (connection) => {
    const locked = found(await lockEndpoint(connection, id, actor.tenants));
    const before = showEndpoint(locked);
    if (before.enabled) {
      throw new AppError('endpoint_enabled', {
        detail:
          'The endpoint is enabled: what is queued for it is being delivered. Disable it first, or purge single deliveries.',
      });
    }
    if (before.backlog.is_discarding) return before;
    const { discarded, isEnabled } = await discardThenEnable(connection, id, discardedAtOnce);
    const left = isEnabled
      ? 0
      : await countLiveDeliveries(connection, { id, lane: laneOf(id), parked: false });
    if (!isEnabled) {
      await insertDiscardJob(connection, {
        id: newId('job'),
        action: 'discard_backlog',
        endpointId: id,
        rows: left,
        createdBy: actor.name,
      });
    }
    const now = await getEndpoint(connection, actor, id);
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.discard_backlog',
      target: id,
      tenant: locked.tenant,
      before,
      after: { ...now, discarded: discarded + left },
    });
    return now;
  });
  if (after.enabled) options.wakeUp.wake([id]);
  else options.jobs.poke();
  return after;
}
