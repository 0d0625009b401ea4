/** After this many failures in a row an endpoint is paused. */
export const failuresToOpen = 20;
const firstPauseSeconds = 30;
const longestPauseSeconds = 600;

export type Breaker = {
  readonly failuresInRow: number;
  /** How often it has opened without a success in between. Each time doubles the next pause. */
  readonly pausesInRow: number;
};

export const closedBreaker: Breaker = { failuresInRow: 0, pausesInRow: 0 };

/**
 * The breaker after a failed attempt, and the pause in seconds that begins now, or null. A failed probe opens it for
 * twice as long, up to ten minutes; others that were under way only count, or each would lengthen the pause.
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

/** A second with a margin: two requests sent a second apart may arrive less than a second apart. */
const windowMillis = 1020;

/**
 * Allows at most `perSecond` requests in any window of a second; a full token bucket would let twice as many through. A
 * claimed row counts from its claim until a second after it is sent.
 */
export class Rate {
  perSecond: number;
  /** How many rows are claimed and not yet sent. */
  #held = 0;
  /** How many requests were sent in which millisecond, the oldest first. */
  readonly #sent: { atMillis: number; count: number }[] = [];
  #sentCount = 0;

  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  available(nowMillis: number): number {
    for (;;) {
      const [oldest] = this.#sent;
      if (oldest === undefined || oldest.atMillis + windowMillis > nowMillis) break;
      this.#sent.shift();
      this.#sentCount -= oldest.count;
    }
    return Math.max(0, this.perSecond - this.#held - this.#sentCount);
  }

  /** Notes that so many rows were claimed; a negative count notes that rows were given back. */
  hold(count: number): void {
    this.#held = Math.max(0, this.#held + count);
  }

  noteSent(nowMillis: number): void {
    const atMillis = Math.ceil(nowMillis);
    const last = this.#sent.at(-1);
    if (last?.atMillis === atMillis) last.count += 1;
    else this.#sent.push({ atMillis, count: 1 });
    this.#sentCount += 1;
  }
}

/** How often the lanes are scanned when no wake-up comes. */
export const scanMillis = 1000;
const minScanMillis = 10;
/**
 * A rest lasts this many times as long as the scan took, so that scans take a fifth of the time at most, as long as one
 * takes less than a quarter of a second. Longer ones take more of it, 29 % at 400 ms: a rest is never longer than
 * `scanMillis`, because retries and what other processes queue are found by scans alone, and must not wait.
 */
const restFactor = 4;

/**
 * The milliseconds until the next scan: with ten thousand endpoints one takes 50 ms, and something always falls due.
 */
export function restAfter(tookMillis: number): number {
  return Math.min(scanMillis, Math.max(minScanMillis, restFactor * tookMillis));
}
