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
