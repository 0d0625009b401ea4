import type { Static } from 'typebox';
import type { Database } from '../../platform/postgres/database.ts';
import type { endpointChangeSchema } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { type Caller, found, showEndpoint, toEndpointId } from './endpoints.ts';
import { type EndpointSettings, lockEndpoint, updateEndpoint } from './queries.ts';

type Change = Static<typeof endpointChangeSchema>;

/**
 * Changes what is named and leaves the rest. Disabling makes the endpoint's rows wait; enabling closes
 * its breaker. Throws 400 `target_invalid`, `target_blocked`, 404 `endpoint_not_found`.
 */
export async function changeEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'target' | 'wakeUp' | 'audit'>,
  caller: Caller,
  request: { id: string; change: Change },
) {
  const { change } = request;
  // Looks names up: not while a row is locked.
  if (change.url !== undefined) await options.target.assertAllowed(change.url);
  const id = toEndpointId(request.id);
  const { before, after } = await db.transaction(async (connection) => {
    const locked = found(await lockEndpoint(connection, id, caller.actor.tenants));
    const changed = await updateEndpoint(connection, id, changedSettings(locked, change), {
      closesBreaker: change.enabled === true,
    });
    const views = { before: showEndpoint(locked), after: showEndpoint(found(changed)) };
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.change',
      target: id,
      tenant: locked.tenant,
      ...views,
    });
    return views;
  });
  // Rows may be due now: a breaker is closed, a rate is higher.
  if (before.enabled || after.enabled) options.wakeUp.wake([id]);
  return after;
}

function changedSettings(row: EndpointSettings, change: Change): EndpointSettings {
  // A null says: back to the default.
  const or = <T>(given: T | undefined, old: T): T => (given === undefined ? old : given);
  return {
    url: or(change.url, row.url),
    description: or(change.description, row.description),
    event_types: or(change.event_types, row.event_types),
    enabled: or(change.enabled, row.enabled),
    disabled_reason:
      change.enabled === undefined ? row.disabled_reason : change.enabled ? null : 'operator',
    max_attempts: or(change.max_attempts, row.max_attempts),
    retry_schedule: or(change.retry_schedule, row.retry_schedule),
    rate_limit: or(change.rate_limit, row.rate_limit),
  };
}
