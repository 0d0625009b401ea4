import type { ClaimedRow } from '../claim.ts';
import { signatureHeaders } from '../delivery/request.ts';
import type { AttemptResult, Sender } from '../delivery/sender.ts';
import type { BreakerChange } from './endpoint.ts';
import { type EndpointConfig, secretsAt } from './endpoint-configs.ts';
import { isThrottled, outcomeOf, throttledOutcome } from './outcome.ts';
import type { Ended } from './outcome-writer.ts';

/** The result for an endpoint whose secret cannot be decrypted: an unsigned delivery is never sent. */
const unreadable: AttemptResult = {
  durationMillis: 0,
  status: null,
  failureClass: 'unsendable',
  error: 'The secret of the endpoint cannot be decrypted. Rotate it.',
  response: null,
  retryAfterSeconds: null,
  isOverslept: false,
  isCut: false,
};

/**
 * Signs and sends a claimed delivery once. `nowMillis` is monotonic and decides which secrets still sign; `wallSeconds`
 * (since 1970) goes into the signature. `onSent` is called when the request goes out, and a second time when it has to
 * go out again over another connection. Never rejects: a failure is in the result.
 */
export function deliverOnce(
  sender: Sender,
  row: ClaimedRow,
  config: EndpointConfig,
  time: { nowMillis: number; wallSeconds: number; onSent: () => void },
): Promise<AttemptResult> {
  const secrets = secretsAt(config, time.nowMillis);
  if (secrets === null) return Promise.resolve(unreadable);
  const headers = signatureHeaders({
    id: row.idempotency_key,
    timestampSeconds: time.wallSeconds,
    body: row.body,
    secrets,
  });
  return sender.send({ url: config.url, body: row.body, headers, onSent: time.onSent });
}

/**
 * Builds the outcome of an attempt, in the form in which the writer stores it. `startedAt` is monotonic milliseconds;
 * `random` (0 … 1) varies the delay before the next attempt.
 */
export function endOf(
  row: ClaimedRow,
  config: EndpointConfig,
  made: {
    result: AttemptResult;
    lease: number;
    startedAt: number;
    random: number;
    breaker: BreakerChange | null;
  },
): Ended {
  const { result, lease, startedAt, random, breaker } = made;
  const delivery = {
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    scheduleFrom: row.schedule_from,
  };
  const isHeldBack = isThrottled(result, row.throttled_seconds);
  const outcome = isHeldBack
    ? throttledOutcome(row, breaker?.throttleSeconds ?? result.retryAfterSeconds ?? 1)
    : outcomeOf(delivery, result, config.schedule, random);
  return {
    endpointId: row.endpoint_id,
    configVersion: config.version,
    tenant: row.tenant,
    before: { status: row.status, failureClass: row.failure_class },
    startedAt,
    breaker,
    isHeldBack,
    row: {
      lane: row.lane,
      id: row.id,
      lease,
      ...outcome,
      error: result.error,
      httpStatus: result.status,
      target: config.url,
      agoMillis: 0,
      durationMillis: result.durationMillis,
      response: result.response,
    },
  };
}
