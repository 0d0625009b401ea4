import type { Static } from 'typebox';
import type { Database } from '../../platform/postgres/database.ts';
import type { endpointChangeSchema } from '../contract.ts';
import { cancelBacklogJobs } from '../dead-letters/discard.ts';
import type { WebhookOptions } from '../options.ts';
import { type Caller, found, showEndpoint, toEndpointId } from './endpoints.ts';
import { type EndpointSettings, lockEndpoint, updateEndpoint } from './queries.ts';

type Change = Static<typeof endpointChangeSchema>;

/**
 * Changes what is named and leaves the rest. Disabling makes the endpoint's rows wait, also those that
 * are yet to come; enabling closes its breaker and lets them go.
 * Throws 400 `target_invalid`, `target_blocked`, 404 `endpoint_not_found`.
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
    if (change.enabled !== undefined) await cancelBacklogJobs(connection, [id]);
    const settings = changedSettings(locked, change, caller.actor.name);
    const changed = await updateEndpoint(connection, id, settings, {
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

function changedSettings(row: EndpointSettings, change: Change, by: string): EndpointSettings {
  // A null says: back to the default.
  const or = <T>(given: T | undefined, old: T): T => (given === undefined ? old : given);
  return {
    url: or(change.url, row.url),
    description: or(change.description, row.description),
    event_types: or(change.event_types, row.event_types),
    ...switched(row, change.enabled, by),
    max_attempts: or(change.max_attempts, row.max_attempts),
    retry_schedule: or(change.retry_schedule, row.retry_schedule),
    rate_limit: or(change.rate_limit, row.rate_limit),
  };
}

/** One that is disabled already stays so since then, and by whoever did it. */
function switched(
  row: EndpointSettings,
  enabled: boolean | undefined,
  by: string,
): Pick<EndpointSettings, 'enabled' | 'disabled_reason' | 'disabled_by'> {
  if (enabled === true) return { enabled, disabled_reason: null, disabled_by: null };
  if (enabled === false && row.enabled) {
    return { enabled, disabled_reason: 'operator', disabled_by: by };
  }
  const { disabled_reason, disabled_by } = row;
  return { enabled: row.enabled, disabled_reason, disabled_by };
}
