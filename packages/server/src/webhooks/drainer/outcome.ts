import type { DeliveryStatus, FailureClass } from '../contract.ts';
import type { AttemptResult } from '../delivery/sender.ts';
import { delayAfter } from './schedule.ts';

/** What of a claimed delivery decides on what becomes of it. */
export type Claimed = {
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Attempts when the schedule last began. */
  readonly scheduleFrom: number;
};

/** What a delivery becomes by an attempt (SPEC §6). */
export type Outcome = {
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
  delivery: Claimed,
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
