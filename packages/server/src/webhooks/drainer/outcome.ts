import type { ClaimedRow } from '../claim.ts';
import type { AttemptResult } from '../delivery/sender.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';

/** The part of a claimed delivery that decides what an attempt makes of it. */
export type ClaimedDelivery = {
  /** How many attempts were made before this one. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** How many attempts had been made when the retry schedule last began: 0, or more after a manual retry. */
  readonly scheduleFrom: number;
};

/** What an attempt makes of a delivery (SPEC §6). */
type Outcome = {
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Seconds until the next attempt; null when there is none. */
  readonly delaySeconds: number | null;
  /** Whether the schedule or the receiver's Retry-After decided the delay; null when there is none. */
  readonly heldBy: 'schedule' | 'retry_after' | null;
  readonly failureClass: FailureClass | null;
};

/**
 * Decides what an attempt makes of a delivery. `schedule` is in seconds and `random` is 0 … 1, both as for
 * `delayAfter`. A 410 (class `gone`) abandons the delivery at once, because the receiver has said that it no longer
 * exists.
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
    return { ...ended, status: 'delivered', maxAttempts: delivery.maxAttempts };
  }
  if (failureClass === 'gone' || attempts >= delivery.maxAttempts) {
    return { ...ended, status: 'abandoned', maxAttempts: attempts };
  }
  const made = attempts - delivery.scheduleFrom;
  const { seconds, heldBy } = delayAfter(made, schedule, result.retryAfterSeconds, random);
  return {
    status: 'pending',
    attempts,
    maxAttempts: delivery.maxAttempts,
    delaySeconds: seconds,
    heldBy,
    failureClass,
  };
}

/** A delivery that was refused for so long, in seconds, is not held back any more: each refusal is an attempt. */
const longestThrottle = 86_400;

/**
 * Whether the receiver only takes no more for now (429, or 503 with Retry-After). `throttledSeconds` is for how long it
 * has said so of this delivery; null when it never did.
 */
export function isThrottled(
  { status, retryAfterSeconds }: Pick<AttemptResult, 'status' | 'retryAfterSeconds'>,
  throttledSeconds: number | null,
): boolean {
  const isRefusal = status === 429 || (status === 503 && retryAfterSeconds !== null);
  return isRefusal && (throttledSeconds ?? 0) < longestThrottle;
}

/** What becomes of a delivery that is held back: it stays what it is, and is due again when its receiver takes more. */
export function throttledOutcome(
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
