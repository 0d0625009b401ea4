import type { Waiting } from '../contract.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';

/**
 * The facts that say why a delivery is not delivered yet. Times are in the future or null, apart from `disabled_at`.
 */
export type WaitFacts = {
  status: DeliveryStatus;
  failure_class: FailureClass | null;
  attempts: number;
  max_attempts: number;
  next_retry: string | null;
  /** Whether `next_retry` is still to come. */
  is_early: boolean;
  held_by: string | null;
  /** What it goes in order with, and the delivery that goes before it; null: nothing. */
  order_key: string | null;
  waits_for: string | null;
  is_probe: boolean;
  leased_until: string | null;
  is_enabled: boolean;
  /** Whether its receiver fetches it, and when that polled last. */
  is_polled: boolean;
  polled_at: string | null;
  disabled_reason: string | null;
  /** When it was disabled: a time in the past. */
  disabled_at: string | null;
  disabled_by: string | null;
  is_deleted: boolean;
  paused_until: string | null;
  throttled_until: string | null;
  failures_in_row: number;
  rate_limit: number | null;
};

/** How long the drainer that keeps a lane has been silent. */
export type Silence = {
  readonly seconds: number;
  /** Seconds until another drainer may take the lane, and when that is. */
  readonly passes_in: number;
  readonly passes_at: string;
};

/** Why a delivery is not delivered yet: the first reason to see to. `ask_for_drainer`: it is due. */
export function whyWaiting(facts: WaitFacts): Waiting | 'finished' | 'ask_for_drainer' {
  if (facts.status === 'delivered' || facts.status === 'discarded') return 'finished';
  if (facts.is_deleted || !facts.is_enabled) {
    return { reason: 'disabled', until: null, text: disabledText(facts) };
  }
  if (facts.leased_until !== null) {
    const text = `an attempt is under way; its outcome is known by ${inWords(facts.leased_until)}`;
    return { reason: 'in_flight', until: facts.leased_until, text };
  }
  if (facts.status === 'abandoned') {
    if (facts.failure_class === 'erased') {
      return { reason: 'parked', until: null, text: 'its payload was erased: it cannot be sent' };
    }
    return { reason: 'parked', until: null, text: `${whyParked(facts)}: retry to send it again` };
  }
  if (facts.is_polled) return { reason: 'poll', until: null, text: pollText(facts) };
  if (facts.waits_for !== null) {
    const text = `${facts.waits_for} of the same key (${facts.order_key}) goes before it`;
    return { reason: 'order', until: null, text };
  }
  if (facts.paused_until !== null && !facts.is_probe) {
    return {
      reason: 'breaker',
      until: facts.paused_until,
      text: pauseText(facts, facts.paused_until),
    };
  }
  if (facts.is_early && facts.next_retry !== null) return scheduled(facts, facts.next_retry);
  if (facts.throttled_until !== null && !facts.is_probe) return throttled(facts.throttled_until);
  return 'ask_for_drainer';
}

function pollText({ polled_at: at }: WaitFacts): string {
  const last = at === null ? 'it has never polled' : `it polled last at ${inWords(at)}`;
  return `its receiver fetches it, or has it and has not acknowledged it; ${last}`;
}

/** The reason when the keeper of the lane is frozen or cut off. `hasOther` says whether another drainer answers. */
export function whySilent({ seconds, passes_in, passes_at }: Silence, hasOther: boolean): Waiting {
  const silence = `its drainer has not answered for ${Math.floor(seconds)} s`;
  const soon = `in ${Math.max(1, Math.ceil(passes_in))} s`;
  const text = hasOther
    ? `${silence}; another takes over ${soon}`
    : `${silence}, and no other runs. Start one, which takes over ${soon}: svcctl serve with the role drainer, or svcctl drain`;
  return { reason: 'silent_drainer', until: passes_at, text };
}

/** The reason when a delivery is due, its endpoint takes deliveries, and it still waits. */
export function whyStillDue(facts: WaitFacts, isDrainerRunning: boolean): Waiting {
  if (!isDrainerRunning) {
    const text =
      'it is due, but no drainer runs. Start one: svcctl serve with the role drainer, or svcctl drain';
    return { reason: 'no_drainer', until: null, text };
  }
  if (facts.rate_limit !== null) {
    const text = `it is due; the endpoint is sent ${facts.rate_limit} deliveries a second at most`;
    return { reason: 'rate', until: null, text };
  }
  return { reason: 'due', until: null, text: 'it is due: a drainer sends it next' };
}

function whyParked({ failure_class: failure, attempts, max_attempts: most }: WaitFacts): string {
  if (failure === 'endpoint_disabled') return 'its endpoint was disabled for too long';
  if (failure === 'expired') return 'it was not delivered in the time that its endpoint allows';
  if (failure === 'final_status') return 'its endpoint wants no other attempt after this answer';
  return `${attempts} of ${most} attempts failed`;
}

function throttled(until: string): Waiting {
  const text = `the receiver asked to be sent less (429, or Retry-After): nothing goes to it until ${inWords(until)}`;
  return { reason: 'retry_after', until, text };
}

function scheduled(facts: WaitFacts, until: string): Waiting {
  if (facts.held_by === 'retry_after') {
    return throttled(until);
  }
  if (facts.held_by === 'expiry') {
    const text = `it expires at ${inWords(until)}, before its next attempt`;
    return { reason: 'schedule', until, text };
  }
  const text = `attempt ${facts.attempts + 1} of ${facts.max_attempts} is scheduled for ${inWords(until)}`;
  return { reason: 'schedule', until, text };
}

/** The text for a paused endpoint. A retry is recommended only for what is not queued already. */
function pauseText({ failures_in_row, status }: WaitFacts, until: string): string {
  const pause = `the endpoint failed ${failures_in_row} times in a row and is paused until ${inWords(until)}`;
  return `${pause}; ${status === 'queued' ? 'then one row is tried first' : 'a retry passes the pause'}`;
}

/** A time to the second, such as `2026-03-05 14:07:09 UTC`. */
function inWords(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;
}

function disabledText(facts: WaitFacts): string {
  if (facts.is_deleted) {
    return 'the endpoint is disabled: it was deleted, and its rows are being discarded';
  }
  const { disabled_at: at, disabled_by: name } = facts;
  const since = at === null ? '' : ` since ${inWords(at)}`;
  const isByReceiver = facts.disabled_reason === 'gone' || facts.disabled_reason === 'failing';
  const isNamed = name !== null && name !== 'an operator';
  const operator = isNamed ? `an operator (${name})` : 'an operator';
  const by =
    facts.disabled_reason === 'gone'
      ? 'its receiver, which answered 410 Gone'
      : facts.disabled_reason === 'failing'
        ? 'the service, because it failed for days'
        : operator;
  const when = isByReceiver ? ' once the receiver is back' : '';
  const then = facts.status === 'abandoned' ? ', then retry' : ' to deliver';
  return `the endpoint is disabled${since} by ${by}. Enable it${when}${then}`;
}
