import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Traces, traceIdOf } from '../../platform/traces.ts';
import type { ClaimedRow } from '../claim.ts';
import { type CustomHeaders, openHeaders } from '../custom-headers.ts';
import type { AttemptResult, Sender } from '../delivery/sender.ts';
import type { DeliverySettings } from '../delivery-settings.contract.ts';
import { type OpenedDelivery, openDelivery } from '../delivery-settings.ts';
import { type SecretBox, secretBytes } from '../secret.ts';
import { signatureHeaders } from '../signature.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import type { BreakerChange } from './endpoint.ts';
import type { Ended } from './outcome-writer.ts';
import { findEndpointConfigs } from './queries.ts';

const unsent = (failureClass: FailureClass, error: string): AttemptResult => ({
  durationMillis: 0,
  status: null,
  failureClass,
  error,
  response: null,
  retryAfterSeconds: null,
  isOverslept: false,
  isCut: false,
});

/**
 * Signs and sends a claimed delivery once, and never rejects. `nowMillis` (monotonic) decides which secrets sign;
 * `wallSeconds` (since 1970) is signed. `onSent` is called when the request goes out, and again when it has to go out
 * over another connection. What cannot be decrypted is not sent.
 */
export function deliverOnce(
  sender: Sender,
  row: ClaimedRow,
  config: EndpointConfig,
  time: { nowMillis: number; wallSeconds: number; onSent: () => void },
): Promise<AttemptResult> {
  const headers = headersOf(row, config, time);
  if (typeof headers === 'string') return Promise.resolve(unsent('unsendable', headers));
  const { url, timeoutMillis, noRetryOn, opened } = config;
  const how = { timeoutMillis, tls: opened?.tls ?? null, onSent: time.onSent };
  const sent = sender.send({ url, body: row.body, headers, ...how });
  return noRetryOn.length === 0 ? sent : sent.then((result) => finalBy(noRetryOn, result));
}

/** The headers of an attempt, signed; a sentence where they cannot be made. Times are those of `deliverOnce`. */
export function headersOf(
  row: Pick<ClaimedRow, 'idempotency_key' | 'body' | 'replay_of' | 'sequence'>,
  config: EndpointConfig,
  time: { nowMillis: number; wallSeconds: number },
): Record<string, string> | string {
  const secrets = secretsAt(config, time.nowMillis);
  if (secrets === null) return 'The secret of the endpoint cannot be decrypted. Rotate it.';
  if (config.headers === null) {
    return 'The headers of the endpoint cannot be decrypted. Set them again.';
  }
  if (config.opened === null) {
    return 'The keys of its delivery settings cannot be decrypted. Set them again.';
  }
  const signature = signatureHeaders({
    id: row.idempotency_key,
    timestampSeconds: time.wallSeconds,
    body: row.body,
    secrets,
    signing: config.opened,
  });
  const replayed = row.replay_of === null ? {} : { 'webhook-replay': row.replay_of };
  const numbered = row.sequence === null ? {} : { 'webhook-sequence': String(row.sequence) };
  return { ...config.headers, ...signature, ...replayed, ...numbered };
}

/** The result with a class of its own where its endpoint has named the status as final. */
function finalBy(noRetryOn: readonly number[], result: AttemptResult): AttemptResult {
  const isFinal = result.failureClass === 'status' && noRetryOn.includes(result.status ?? 0);
  return isFinal ? { ...result, failureClass: 'final_status' } : result;
}

/** Whether it is too late to send a delivery. What an operator has retried is sent once, however old it is. */
export function hasExpired(
  row: Pick<ClaimedRow, 'status' | 'failure_class' | 'age_seconds'>,
  { expiresAfterSeconds }: Pick<EndpointConfig, 'expiresAfterSeconds'>,
): boolean {
  const isRetried = row.status === 'queued' && row.failure_class !== null;
  return expiresAfterSeconds !== null && !isRetried && row.age_seconds >= expiresAfterSeconds;
}

/**
 * The outcome of an attempt, as the writer stores it. `startedAt` is monotonic; `random` (0 … 1) varies the next delay.
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
  const isHeldBack = isThrottled(result, row.throttled_seconds);
  const attempted = isHeldBack
    ? throttledOutcome(row, breaker?.throttleSeconds ?? result.retryAfterSeconds ?? 1)
    : outcomeOf(row, result, config.schedule, random);
  const outcome = untilExpiry(attempted, config, row.age_seconds + result.durationMillis / 1000);
  return {
    endpointId: row.endpoint_id,
    configVersion: config.version,
    tenant: row.tenant,
    orderKey: row.order_key,
    before: { status: row.status, failureClass: row.failure_class },
    startedAt,
    breaker,
    kind: isHeldBack ? 'held_back' : 'attempted',
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

/** The outcome of a delivery that is given up without an attempt, since it came too late. */
export function expiredEnd(
  row: ClaimedRow,
  config: EndpointConfig,
  claim: { lease: number; startedAt: number },
): Ended {
  const text = `It was not delivered within ${config.expiresAfterSeconds} s, after which its endpoint has no use for it`;
  const made = { ...claim, result: unsent('expired', text), random: 0, breaker: null };
  const ended = endOf(row, config, made);
  const { attempts } = row;
  const givenUp = {
    status: 'abandoned',
    attempts,
    maxAttempts: attempts,
    delaySeconds: null,
  } as const;
  return { ...ended, kind: 'expired', row: { ...ended.row, ...givenUp, heldBy: null } };
}

/** The part of a claimed delivery that decides what an attempt makes of it. */
export type ClaimedDelivery = Pick<ClaimedRow, 'attempts' | 'max_attempts' | 'schedule_from'>;

/** What an attempt makes of a delivery (SPEC §6). */
type Outcome = {
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly delaySeconds: number | null;
  /** Whether the schedule or the receiver's Retry-After decided the delay; null when there is none. */
  readonly heldBy: 'schedule' | 'retry_after' | 'expiry' | null;
  readonly failureClass: FailureClass | null;
};

/**
 * Decides what an attempt makes of a delivery. `schedule` is in seconds and `random` is 0 … 1. A 410 (class `gone`),
 * and a status that its endpoint has named as final, abandon it at once.
 */
export function outcomeOf(
  delivery: ClaimedDelivery,
  result: Pick<AttemptResult, 'failureClass' | 'retryAfterSeconds'>,
  schedule: readonly number[],
  random: number,
): Outcome {
  const attempts = delivery.attempts + 1;
  const { failureClass } = result;
  const ended = { delaySeconds: null, heldBy: null, failureClass, attempts };
  if (failureClass === null) {
    return { ...ended, status: 'delivered', maxAttempts: delivery.max_attempts };
  }
  const isFinal = failureClass === 'gone' || failureClass === 'final_status';
  if (isFinal || attempts >= delivery.max_attempts) {
    return { ...ended, status: 'abandoned', maxAttempts: attempts };
  }
  const made = attempts - delivery.schedule_from;
  const { seconds, heldBy } = delayAfter(made, schedule, result.retryAfterSeconds, random);
  const { max_attempts: maxAttempts } = delivery;
  return { ...ended, status: 'pending', maxAttempts, delaySeconds: seconds, heldBy };
}

/** An outcome whose next attempt would come too late is due when it expires, to be told as expired then. */
function untilExpiry(
  outcome: Outcome,
  { expiresAfterSeconds }: EndpointConfig,
  ageSeconds: number,
): Outcome {
  if (expiresAfterSeconds === null || outcome.delaySeconds === null) return outcome;
  const left = Math.max(0, expiresAfterSeconds - ageSeconds);
  return outcome.delaySeconds < left
    ? outcome
    : { ...outcome, delaySeconds: left, heldBy: 'expiry' };
}

/** A delivery that was refused for so long, in seconds, is not held back any more: each refusal is an attempt. */
const longestThrottle = 86_400;

/** Whether the receiver only takes no more for now (429, or 503 with Retry-After). `throttledSeconds`: for how long now. */
export function isThrottled(
  { status, retryAfterSeconds }: Pick<AttemptResult, 'status' | 'retryAfterSeconds'>,
  throttledSeconds: number | null,
): boolean {
  const isRefusal = status === 429 || (status === 503 && retryAfterSeconds !== null);
  return isRefusal && (throttledSeconds ?? 0) < longestThrottle;
}

/** What becomes of a delivery that is held back: it stays what it is, and is due again when its receiver takes more. */
function throttledOutcome(
  row: Pick<ClaimedRow, 'status' | 'attempts' | 'max_attempts' | 'failure_class'>,
  seconds: number,
): Outcome {
  return {
    status: row.status,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    delaySeconds: seconds,
    heldBy: 'retry_after',
    failureClass: row.failure_class,
  };
}

/** The seconds before attempt 2, 3, …; the last entry repeats. */
export const defaultSchedule: readonly number[] = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];

/** Each delay is varied by up to this share of itself, in both directions. */
const jitter = 0.2;

type Delay = { seconds: number; heldBy: 'schedule' | 'retry_after' };

/**
 * How long to wait after a failed attempt, in seconds. `made` counts the attempts since the schedule began, including
 * this one; `random` is 0 … 1. Each step is varied by ±20 %, so that deliveries that failed together do not come back
 * together. Retry-After can only make the wait longer.
 */
export function delayAfter(
  made: number,
  schedule: readonly number[],
  retryAfterSeconds: number | null,
  random: number,
): Delay {
  const step = schedule[Math.min(made, schedule.length) - 1] ?? 0;
  const seconds = step * (1 - jitter + 2 * jitter * random);
  if (retryAfterSeconds !== null && retryAfterSeconds > seconds) {
    return { seconds: retryAfterSeconds, heldBy: 'retry_after' };
  }
  return { seconds, heldBy: 'schedule' };
}

/** What a drainer must know of an endpoint in order to send to it. */
export type EndpointConfig = {
  /** Changes whenever the endpoint is changed. See `configVersion` in queries.ts. */
  readonly version: number;
  readonly url: string;
  /** Seconds before attempt 2, 3, …; the last entry repeats. */
  readonly schedule: readonly number[];
  /** The secret in plain bytes; null when it cannot be decrypted. */
  readonly secret: Buffer | null;
  readonly headers: CustomHeaders | null;
  readonly opened: OpenedDelivery | null;
  /** Its own time limit of an attempt; undefined: that of the service. */
  readonly timeoutMillis: number | undefined;
  readonly noRetryOn: readonly number[];
  /** How old a delivery may be that is sent; null: of any age. */
  readonly expiresAfterSeconds: number | null;
  /** Secrets that were rotated out and can be decrypted. Each still signs until that time (monotonic milliseconds). */
  readonly previous: readonly { secret: Buffer; until: number }[];
};

/** The secrets that sign at that time, the present one first; null when the present one cannot be decrypted. */
function secretsAt(config: EndpointConfig, nowMillis: number): Buffer[] | null {
  const { secret, previous } = config;
  if (secret === null) return null;
  return [secret, ...previous.filter(({ until }) => until > nowMillis).map((old) => old.secret)];
}

/** When more endpoints than this are remembered, all are forgotten and looked up again as they are needed. */
const maxRemembered = 10_000;

/** Remembers the URLs and secrets of endpoints, and reads one again only when its endpoint has changed. */
export class EndpointConfigs {
  readonly #known = new Map<string, EndpointConfig>();
  readonly #db: Queryable;
  readonly #secretBox: () => SecretBox;

  constructor(db: Queryable, secretBox: () => SecretBox) {
    this.#db = db;
    this.#secretBox = secretBox;
  }

  /** Makes sure that `get` knows the endpoints of these rows as they were when the rows were claimed. */
  async load(rows: readonly Pick<ClaimedRow, 'endpoint_id' | 'config_version'>[]): Promise<void> {
    if (this.#known.size > maxRemembered) this.#known.clear();
    const stale = new Set<string>();
    for (const row of rows) {
      const known = this.#known.get(row.endpoint_id);
      // What could not be decrypted may be by now: the keys of a process change while it runs.
      const isRead = [known?.secret, known?.headers, known?.opened].every((part) => part != null);
      if (known?.version !== row.config_version || !isRead) {
        stale.add(row.endpoint_id);
      }
    }
    if (stale.size === 0) return;
    const box = this.#secretBox();
    for (const row of await findEndpointConfigs(this.#db, [...stale])) {
      const { previous_secrets: previous, previous_secrets_ms: millis } = row;
      this.#known.set(row.id, {
        version: row.config_version,
        url: row.url,
        schedule: row.retry_schedule ?? defaultSchedule,
        secret: orNull(() => secretBytes(box.open(row.secret, row.id))),
        headers: orNull(() => openHeaders(box, row.id, row.headers)),
        opened: orNull(() => openDelivery(box, { id: row.id, version: row.config_version }, row)),
        ...sendingOf(row.delivery ?? {}),
        previous: previous.flatMap((sealed, i) => {
          const secret = orNull(() => secretBytes(box.open(sealed, row.id)));
          return secret === null ? [] : [{ secret, until: performance.now() + (millis[i] ?? 0) }];
        }),
      });
    }
  }

  get(endpointId: string): EndpointConfig | undefined {
    return this.#known.get(endpointId);
  }
}

function sendingOf({ timeout_seconds, no_retry_on = [], expires_after_seconds }: DeliverySettings) {
  return {
    timeoutMillis: timeout_seconds === undefined ? undefined : timeout_seconds * 1000,
    noRetryOn: no_retry_on,
    expiresAfterSeconds: expires_after_seconds ?? null,
  };
}

/** What is opened, or null: one endpoint of which something cannot be decrypted must not stop the others. */
function orNull<T>(open: () => T): T | null {
  try {
    return open();
  } catch {
    return null;
  }
}

/** Is called when an attempt begins; what it returns is called once, when that has ended. */
export type WatchAttempt = (row: ClaimedRow, target: string) => (result: AttemptResult) => void;

/** Tells of attempts: each as a span in the trace of its report; each that counts, to `observe` and in the log. */
export function watchAttempts({
  log,
  traces,
  observe,
}: {
  log: Log;
  traces: Traces | null;
  observe: (result: AttemptResult) => void;
}): WatchAttempt {
  return (row, target) => {
    const span = traces === null ? null : beginSpan(traces, row, target);
    return (result) => {
      const { status, failureClass, isCut } = result;
      const answer = status === null ? {} : { 'http.response.status_code': status };
      span?.end(answer, isCut ? 'cut' : failureClass);
      if (isCut) return;
      observe(result);
      logAttempt(log, row, result);
    };
  };
}

/** Of the target it names the host alone: paths and queries of webhooks often hold secrets. */
function beginSpan(traces: Traces, row: ClaimedRow, target: string) {
  const url = URL.canParse(target) ? new URL(target) : null;
  return traces.begin('deliver webhook', {
    kind: 'client',
    parent: row.trace_parent,
    attributes: {
      'http.request.method': 'POST',
      'server.address': url?.hostname,
      'server.port': Number(url?.port || (url?.protocol === 'http:' ? 80 : 443)),
      'svcctl.tenant': row.tenant,
      'svcctl.endpoint_id': row.endpoint_id,
      'svcctl.incident_id': row.incident_id,
      'svcctl.delivery_id': row.id,
      'svcctl.attempt': row.attempts + 1,
      'svcctl.queue.wait_ms': Math.round(row.waited_ms),
      'svcctl.request_id': row.request_id ?? undefined,
    },
  });
}

/** Logs which delivery was attempted for which request. A success only interests somebody who looks for it. */
function logAttempt(log: Log, row: ClaimedRow, result: AttemptResult): void {
  const { failureClass, status, durationMillis, error } = result;
  const { request_id, trace_parent: parent } = row;
  const ids = {
    delivery: row.id,
    incident: row.incident_id,
    endpoint: row.endpoint_id,
    request_id,
    ...(parent !== null && { trace_id: traceIdOf(parent) }),
  };
  const attempt = { attempt: row.attempts + 1, status, millis: Math.round(durationMillis) };
  if (failureClass === null) log.debug({ ...ids, ...attempt }, 'delivered');
  else log.info({ ...ids, ...attempt, failure_class: failureClass, error }, 'an attempt failed');
}
