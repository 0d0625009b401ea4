import type { Static } from 'typebox';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { AcceptedDelivery, newIncidentSchema } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { isSameRequest, payloadText, requestDigest } from './payload.ts';
import * as queries from './queries.ts';

type Request = Static<typeof newIncidentSchema>;
type Accepted = { id: string; deliveries: AcceptedDelivery[] };

/**
 * Stores an incident and one delivery for each endpoint of its tenant that wants its type. The deliveries of disabled
 * endpoints wait until these are enabled. The same idempotency key gives the same answer again. The call is not
 * audited: it is the pipeline's write, not an operator's, and the incident itself is the record of it. `dataSource` is
 * `data` as the caller spelled it.
 *
 * Throws 400 `request_invalid`, 409 `idempotency_conflict`, 413 `body_too_large`.
 */
export async function reportIncident(
  db: Queryable,
  options: Pick<WebhookOptions, 'clock' | 'maxAttempts' | 'maxPayloadBytes' | 'wakeUp'>,
  actor: Actor,
  { request, dataSource }: { request: Request; dataSource: string | undefined },
): Promise<Accepted> {
  const { tenant, store = null, type, data } = request;
  assertReach(actor, tenant);
  const nowMillis = options.clock();
  const occurredAt = toOccurredAt(request.occurred_at, nowMillis);
  const body = payloadText(
    { type, timestamp: occurredAt, data },
    options.maxPayloadBytes,
    dataSource,
  );
  const incident = { id: newId('inc'), tenant, store, type, occurredAt, body };
  const key = toKey(request, dataSource);
  // A second try is needed when a key in use runs out between the two statements.
  for (let attempt = 1; attempt <= 2; attempt++) {
    const stored = await queries.insertIncident(db, incident, {
      endpointId: null,
      key,
      maxAttempts: options.maxAttempts,
      nowMillis,
    });
    if (stored !== undefined) {
      options.wakeUp.wake(stored.due);
      return { id: incident.id, deliveries: stored.deliveries };
    }
    const earlier = key === null ? undefined : await findEarlier(db, request, key);
    if (earlier !== undefined) return earlier;
  }
  throw new Error('an idempotency key is in use and is not there');
}

/**
 * The answer that was given to this key before; undefined when the key has run out. Throws 409 `idempotency_conflict`.
 */
async function findEarlier(
  db: Queryable,
  request: Request,
  key: { text: string; digest: Buffer },
): Promise<Accepted | undefined> {
  const earlier = await queries.findIncidentKey(db, request.tenant, key.text);
  if (earlier === undefined) return undefined;
  if (!isSameRequest(earlier.digest, key.digest, request)) {
    throw new AppError('idempotency_conflict', {
      detail:
        'This idempotency_key was used with another body in the last 30 days. Send what differs under a key of its own.',
    });
  }
  const deliveries = await queries.listDeliveriesOfIncident(db, earlier.incident_id);
  return {
    id: earlier.incident_id,
    // The deliveries are shown as they were when accepted, so that the answer is the same whatever has become of them.
    deliveries: deliveries.map((delivery) => ({ ...delivery, status: 'queued' })),
  };
}

function toOccurredAt(given: string | undefined, nowMillis: number): string {
  const micros = given === undefined ? nowMillis * 1000 : parseInstant(given);
  if (micros !== null) return formatMicros(micros);
  throw invalidInput(
    '/occurred_at',
    'must be an RFC 3339 time with at most six fraction digits, before 2255',
  );
}

function toKey(
  request: Request,
  dataSource: string | undefined,
): { text: string; digest: Buffer } | null {
  const text = request.idempotency_key;
  return text === undefined ? null : { text, digest: requestDigest(request, dataSource) };
}
