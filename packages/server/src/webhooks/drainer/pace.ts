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

/**
 * A receiver sees requests some time after they are sent, one a little sooner than another: two that are a
 * second apart here may be less there.
 */
const windowMillis = 1020;

/**
 * No more than `perSecond` in any window of a second. Not a token bucket: one that is full when a second
 * begins lets twice as many go in it. What was claimed counts from then until it is sent, and for a
 * second from then on: a claim and the making of a connection take their time.
 */
export class Rate {
  perSecond: number;
  /** Claimed and not sent. */
  private held = 0;
  /** How many were sent in which millisecond, the oldest first. */
  private readonly sent: { atMillis: number; count: number }[] = [];
  private sentCount = 0;

  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  /** How many may be claimed now. */
  available(nowMillis: number): number {
    for (;;) {
      const [oldest] = this.sent;
      if (oldest === undefined || oldest.atMillis + windowMillis > nowMillis) break;
      this.sent.shift();
      this.sentCount -= oldest.count;
    }
    return Math.max(0, this.perSecond - this.held - this.sentCount);
  }

  /** So many are claimed; below zero: they are given back. */
  hold(count: number): void {
    this.held = Math.max(0, this.held + count);
  }

  /** One goes out now. */
  noteSent(nowMillis: number): void {
    const atMillis = Math.ceil(nowMillis);
    const last = this.sent.at(-1);
    if (last?.atMillis === atMillis) last.count += 1;
    else this.sent.push({ atMillis, count: 1 });
    this.sentCount += 1;
  }
}

/** How often the lanes are looked over when nobody calls. */
export const scanMillis = 1000;
/** How soon after the last time, at the soonest. */
const minScanMillis = 10;
/** A fifth of the time goes into looking, at most. */
const restFactor = 4;

/**
 * How long after a look over the lanes the next may come. With ten thousand endpoints one takes 50 ms, and
 * some delivery always falls due in the next few: one look after the other would keep the database busy.
 */
export function restAfter(tookMillis: number): number {
  return Math.min(scanMillis, Math.max(minScanMillis, restFactor * tookMillis));
}
