/** Failures in a row after which an endpoint is paused. */
export const failuresToOpen = 20;
const firstPauseSeconds = 30;
const longestPauseSeconds = 600;

export type Breaker = {
  readonly failuresInRow: number;
  /** How often it opened without a success in between. */
  readonly pausesInRow: number;
};

export const closedBreaker: Breaker = { failuresInRow: 0, pausesInRow: 0 };

/**
 * The breaker after a failed attempt, and for how long the endpoint is to pause from now on, if this
 * opens it. A failed probe opens it again, for twice as long, up to ten minutes. What was under way
 * when it opened is only counted.
 */
export function afterFailure(
  breaker: Breaker,
  attempt: { isOpen: boolean; isProbe: boolean },
): { breaker: Breaker; pauseSeconds: number | null } {
  const failuresInRow = breaker.failuresInRow + 1;
  const opens = attempt.isProbe || (!attempt.isOpen && failuresInRow >= failuresToOpen);
  if (!opens) return { breaker: { ...breaker, failuresInRow }, pauseSeconds: null };
  const pauseSeconds = Math.min(firstPauseSeconds * 2 ** breaker.pausesInRow, longestPauseSeconds);
  return { breaker: { failuresInRow, pausesInRow: breaker.pausesInRow + 1 }, pauseSeconds };
}
