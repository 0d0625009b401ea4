/** At most `perSecond` a second, and as many at once. */
export type Rate = {
  readonly perSecond: number;
  /** How many may go now. */
  available(nowMillis: number): number;
  take(count: number): void;
};

/** A token bucket that starts full. */
export function createRate(perSecond: number, startMillis: number): Rate {
  let tokens = perSecond;
  let filledAt = startMillis;
  return {
    perSecond,
    available(nowMillis) {
      tokens = Math.min(perSecond, tokens + ((nowMillis - filledAt) / 1000) * perSecond);
      filledAt = nowMillis;
      return Math.floor(tokens);
    },
    take(count) {
      tokens -= count;
    },
  };
}
