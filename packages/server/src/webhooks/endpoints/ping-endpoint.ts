import { randomInt } from 'node:crypto';
import type { Static } from 'typebox';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros } from '../../kernel/instant.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ClaimedRow } from '../claim.ts';
import type { pingedDeliverySchema } from '../contract.ts';
import { deliverOnce, EndpointConfigs, endOf } from '../drainer/deliver.ts';
import { writeOutcomes } from '../drainer/outcome-writer.ts';
import { claimStored } from '../drainer/queries.ts';
import { found } from '../event-types/event-types.ts';
import { findTypeText } from '../event-types/queries.ts';
import { insertIncidents } from '../incidents/insert-queries.ts';
import { payloadText } from '../incidents/report-incident.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { readWallSeconds } from '../queries.ts';
import { type EndpointCall, withLocked } from './change-endpoint.ts';

const type = 'webhook.ping';
/** A lease lasts this much longer than the attempt may take. */
const leaseMarginSeconds = 15;

/**
 * Sends an event of type `webhook.ping`, or the sample of a type, to this endpoint alone: at once, past its queue,
 * breaker and rate. Returns the delivery and what came of it. The ping is an incident like any other, and retried when
 * it fails. Throws 404 `endpoint_not_found`, `event_type_not_found`, 409 `endpoint_disabled`, and 400 without a sample.
 */
export async function pingEndpoint(
  db: Database,
  options: WebhookOptions,
  call: EndpointCall & { readonly query: { readonly type?: string } },
): Promise<Static<typeof pingedDeliverySchema>> {
  const nowMillis = options.clock();
  const occurredAt = formatMicros(nowMillis * 1000);
  const seconds = options.ping.timeoutSeconds + leaseMarginSeconds;
  const lease = { id: randomInt(2 ** 48 - 1), seconds };
  const sample = await sampleOf(db, call.query.type);
  const row = await withLocked(db, options, call, async (connection, endpoint, note) => {
    const { id: endpointId, tenant, enabled } = endpoint;
    if (!enabled) {
      throw new AppError('endpoint_disabled', {
        detail: 'The endpoint is disabled. Enable it, then ping it again.',
      });
    }
    const data = { endpoint_id: endpointId };
    const payload = { type: sample?.type ?? type, timestamp: occurredAt, data };
    const body = payloadText(payload, options.maxPayloadBytes, sample?.text);
    const own = {
      tenant,
      store: null,
      group: null,
      type,
      occurredAt,
      body,
      key: null,
      endpointId,
      judgement: null,
    };
    const { id: requestId, traceParent } = call.request;
    const told = { reportedAtMillis: nowMillis, requestId, traceParent };
    const incident = { id: newId('inc'), ...own, ...told };
    const [made] = await insertIncidents(connection, [incident], options.maxAttempts);
    const [queued] = made?.deliveries ?? [];
    if (queued === undefined) throw new Error('a ping made no delivery');
    await note('ping', { after: { incident_id: incident.id, delivery_id: queued.id } });
    if (endpoint.type === 'pull') return { queued };
    return claimStored(connection, { lane: laneOf(endpointId), id: queued.id }, lease);
  });
  if (row === undefined) throw new Error('a ping made no delivery');
  // It is handed out with the next poll.
  if ('queued' in row) return { ...row.queued, outcome: null };
  return await attempt(db, options, row, lease.id);
}

/** What is sent instead of a ping. The incident stays a ping, so that no replay takes it for a report. */
async function sampleOf(
  db: Database,
  asked: string | undefined,
): Promise<{ type: string; text: string } | undefined> {
  if (asked === undefined) return undefined;
  const { type, sample: text } = found(await findTypeText(db, asked));
  if (text === null) throw invalidInput('?type', `${type} has no sample in the catalogue`);
  return { type, text };
}

async function attempt(
  db: Database,
  options: WebhookOptions,
  row: ClaimedRow,
  lease: number,
): Promise<Static<typeof pingedDeliverySchema>> {
  const configs = new EndpointConfigs(db, options.secretBox);
  await configs.load([row]);
  const config = configs.get(row.endpoint_id);
  if (config === undefined) throw new Error('the endpoint of a ping vanished');
  const startedAt = performance.now();
  const wallSeconds = await readWallSeconds(db);
  const time = { nowMillis: startedAt, wallSeconds, onSent: () => {} };
  const result = await deliverOnce(options.ping.sender, row, config, time);
  const made = { result, lease, startedAt, random: Math.random(), breaker: null };
  const ended = endOf(row, config, made);
  // No drainer has made the attempt, which leaves the breaker alone.
  const terms = { nowMillis: performance.now(), keeper: 0 };
  await db.transaction((connection) => writeOutcomes(connection, [ended], terms));
  const { status, failureClass, error, durationMillis, response } = result;
  return {
    id: row.id,
    endpoint_id: row.endpoint_id,
    idempotency_key: row.idempotency_key,
    status: ended.row.status,
    outcome: {
      status,
      failure_class: failureClass,
      error,
      duration_ms: durationMillis,
      response: response?.toString() ?? null,
    },
  };
}
