import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros } from '../../kernel/instant.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { payloadText } from '../incidents/payload.ts';
import { insertIncidents } from '../incidents/queries.ts';
import type { WebhookOptions } from '../options.ts';
import { type Caller, found, toEndpointId } from './endpoints.ts';
import { lockEndpoint } from './queries.ts';

const type = 'webhook.ping';

/**
 * Sends an event of type `webhook.ping` to this endpoint alone, whatever event types it wants. The ping is an incident
 * like any other: it is listed and retried. Returns the delivery. Throws 404 `endpoint_not_found`, 409
 * `endpoint_disabled`.
 */
export async function pingEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'clock' | 'maxAttempts' | 'maxPayloadBytes' | 'wakeUp' | 'audit'>,
  caller: Caller,
  request: { id: string },
) {
  const endpointId = toEndpointId(request.id);
  const nowMillis = options.clock();
  const occurredAt = formatMicros(nowMillis * 1000);
  const payload = { type, timestamp: occurredAt, data: { endpoint_id: endpointId } };
  const body = payloadText(payload, options.maxPayloadBytes);
  const delivery = await db.transaction(async (connection) => {
    const { tenant, enabled } = found(
      await lockEndpoint(connection, endpointId, caller.actor.tenants),
    );
    if (!enabled) {
      throw new AppError('endpoint_disabled', {
        detail: 'The endpoint is disabled. Enable it, then ping it again.',
      });
    }
    const own = { tenant, store: null, type, occurredAt, body, key: null, endpointId };
    const { id: requestId, traceParent } = caller.request;
    const told = { reportedAtMillis: nowMillis, requestId, traceParent };
    const incident = { id: newId('inc'), ...own, ...told };
    const [made] = await insertIncidents(connection, [incident], options.maxAttempts);
    const [queued] = made?.deliveries ?? [];
    if (queued === undefined) throw new Error('a ping made no delivery');
    await options.audit(connection, {
      ...caller,
      action: 'endpoint.ping',
      target: endpointId,
      tenant,
      after: { incident_id: incident.id, delivery_id: queued.id },
    });
    return queued;
  });
  options.wakeUp.wake([endpointId]);
  return delivery;
}
