import type { AttemptResult } from '../delivery/sender.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';

/** What of a claimed delivery decides on what becomes of it. */
export type ClaimedDelivery = {
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Attempts when the schedule last began. */
  readonly scheduleFrom: number;
};

/** What a delivery becomes by an attempt (SPEC §6). */
type Outcome = {
  readonly status: DeliveryStatus & ('delivered' | 'pending' | 'abandoned');
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Until the next attempt; null when there is none. */
  readonly delaySeconds: number | null;
  readonly heldBy: 'schedule' | 'retry_after' | null;
  readonly failureClass: FailureClass | null;
};

/** A 410 abandons the row at once: the receiver has said that it is no more. */
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

/** Seconds before attempt 2, 3, …; the last repeats. */
export const defaultSchedule: readonly number[] = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];

const jitter = 0.2;

type Delay = { seconds: number; heldBy: 'schedule' | 'retry_after' };

/**
 * How long to wait after a failed attempt. `made` counts the attempts since the schedule began, this one
 * included; `random` is 0 … 1. Each step is varied by ±20 %, so that what failed together does not come
 * back together. Retry-After only ever lengthens.
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
