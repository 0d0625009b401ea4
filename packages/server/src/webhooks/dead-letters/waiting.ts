import type { DeliveryStatus, FailureClass, WaitReason } from '../values.ts';

/** What bears on why a delivery is not delivered yet. Times are in the future, or null. */
export type WaitFacts = {
  status: DeliveryStatus;
  failure_class: FailureClass | null;
  attempts: number;
  max_attempts: number;
  next_retry: string | null;
  /** Whether next_retry is still to come. */
  is_early: boolean;
  held_by: string | null;
  is_probe: boolean;
  leased_until: string | null;
  is_enabled: boolean;
  disabled_reason: string | null;
  /** In the past. */
  disabled_at: string | null;
  disabled_by: string | null;
  is_deleted: boolean;
  paused_until: string | null;
  failures_in_row: number;
  rate_limit: number | null;
};

/** The drainer that keeps the lane does not answer. */
export type Silence = {
  readonly seconds: number;
  /** Seconds until the lane passes on, and when that is; null: the lane was taken by an earlier release. */
  readonly passes_in: number | null;
  readonly passes_at: string | null;
};

export type Waiting = { reason: WaitReason; until: string | null; text: string };

/** Why a delivery is not delivered yet, or whether a drainer runs if that is all there is left to know. */
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
    const tries =
      facts.failure_class === 'endpoint_disabled'
        ? 'its endpoint was disabled for too long'
        : `${facts.attempts} of ${facts.max_attempts} attempts failed`;
    return { reason: 'parked', until: null, text: `${tries}: retry to send it again` };
  }
  if (facts.paused_until !== null && !facts.is_probe) {
    return {
      reason: 'breaker',
      until: facts.paused_until,
      text: pauseText(facts, facts.paused_until),
    };
  }
  if (facts.is_early && facts.next_retry !== null) return scheduled(facts, facts.next_retry);
  return 'ask_for_drainer';
}

/** The lane is kept by a drainer that is frozen or cut off; whether another one answers. */
export function whySilent({ seconds, passes_in, passes_at }: Silence, hasOther: boolean): Waiting {
  const silence = `its drainer has not answered for ${Math.floor(seconds)} s`;
  const soon = passes_in === null ? 'soon' : `in ${Math.max(1, Math.ceil(passes_in))} s`;
  const text = hasOther
    ? `${silence}; another takes over ${soon}`
    : `${silence}, and no other runs. Start one, which takes over ${soon}: svcctl serve with the role drainer, or svcctl drain`;
  return { reason: 'silent_drainer', until: passes_at, text };
}

/** Why a delivery that is due, to an endpoint that takes it, is not delivered yet. */
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

function scheduled(facts: WaitFacts, until: string): Waiting {
  if (facts.held_by === 'retry_after') {
    const text = `the receiver asked to wait until ${inWords(until)} (Retry-After)`;
    return { reason: 'retry_after', until, text };
  }
  const text = `attempt ${facts.attempts + 1} of ${facts.max_attempts} is scheduled for ${inWords(until)}`;
  return { reason: 'schedule', until, text };
}

/** What is queued already is not helped by a retry. */
function pauseText({ failures_in_row, status }: WaitFacts, until: string): string {
  const pause = `the endpoint failed ${failures_in_row} times in a row and is paused until ${inWords(until)}`;
  return `${pause}; ${status === 'queued' ? 'then one row is tried first' : 'a retry passes the pause'}`;
}

/** To the second: `2026-03-05 14:07:09 UTC`. */
function inWords(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;
}

function disabledText(facts: WaitFacts): string {
  if (facts.is_deleted) {
    return 'the endpoint is disabled: it was deleted, and its rows are being discarded';
  }
  const { disabled_at: at, disabled_by: name } = facts;
  const since = at === null ? '' : ` since ${inWords(at)}`;
  const isGone = facts.disabled_reason === 'gone';
  const operator = name === null ? 'an operator' : `an operator (${name})`;
  const by = isGone ? 'its receiver, which answered 410 Gone' : operator;
  const when = isGone ? ' once the receiver is back' : '';
  const then = facts.status === 'abandoned' ? ', then retry' : ' to deliver';
  return `the endpoint is disabled${since} by ${by}. Enable it${when}${then}`;
}
