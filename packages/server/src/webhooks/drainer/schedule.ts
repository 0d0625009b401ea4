/** Seconds before attempt 2, 3, …; the last repeats. */
export const defaultSchedule: readonly number[] = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];

const jitter = 0.2;

export type Delay = { seconds: number; heldBy: 'schedule' | 'retry_after' };

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
