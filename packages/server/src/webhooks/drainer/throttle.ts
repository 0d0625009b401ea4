/** After a refusal the rate begins at this much less than the one that was refused, and is back after `riseMillis`. */
const cut = 0.05;
const firstRiseSeconds = 10;
const shortestRiseSeconds = 30;
const longestRiseSeconds = 300;
/** The rate comes back in so many pauses, so that no more than a twentieth of the time is lost to pauses. */
const risePauses = 20;
/** After so many times `riseMillis` without a refusal the receiver is sent as much as any other. */
const risesToForget = 5;
/** A refusal that comes within so many pauses says that the rate was far from what the receiver takes. */
const soonPauses = 5;
const leastPerSecond = 0.02;
/** The longest pause where a receiver refuses without saying until when, and the longest that tells of its rate. */
const longestGuessSeconds = 60;

/**
 * How fast a receiver may be sent to that refuses what is too much: by 429, or by 503 with Retry-After. It is left
 * alone until the time it names, then sent a little less than it refused; the rate rises along a cubic, slowly where it
 * refused last and faster beyond, as in TCP (RFC 9438). Requests are evenly spaced, since a receiver may count in
 * tenths of a second. All times are monotonic milliseconds.
 */
export class Throttle {
  #until = Number.NEGATIVE_INFINITY;
  /** The requests a second that were too many; null while none were. */
  #refusedRate: number | null = null;
  #riseMillis = 0;
  /** How many requests were accepted since the last pause. */
  #accepted = 0;
  /** How many were accepted in this second, and in the one before. */
  #second = { sinceMillis: 0, count: 0, before: 0 };
  #pausesInRow = 0;
  /** How many requests may be sent at `allowedAt`; it is a fraction, and grows with time. */
  #allowed = 0;
  #allowedAt = 0;

  /** Knows nothing any more, as of a receiver that never refused anything. */
  forget(): void {
    this.#until = Number.NEGATIVE_INFINITY;
    this.#refusedRate = null;
  }

  isHeld(nowMillis: number): boolean {
    return nowMillis < this.#until;
  }

  /** Whether it is sent to at a rate, or is to be within a second. */
  isPacing(nowMillis: number): boolean {
    return this.#refusedRate !== null && this.#until - nowMillis < 1000;
  }

  /** Takes over what the database knows of the pause: how long it still is, or that an operator has ended it (null). */
  takeOver(nowMillis: number, pauseMillis: number | null): void {
    if (pauseMillis === null) this.forget();
    // The database was told some milliseconds later than the pause began.
    else if (nowMillis + pauseMillis > this.#until + 1000) this.#until = nowMillis + pauseMillis;
  }

  available(nowMillis: number): number {
    if (this.isHeld(nowMillis)) return 0;
    const rate = this.#rateAt(nowMillis);
    if (rate === null) return Number.POSITIVE_INFINITY;
    // The fraction of a tenth of a second makes up for a turn that came late.
    const grown = (rate * (nowMillis - this.#allowedAt)) / 1000;
    this.#allowed = Math.min(1 + rate / 10, this.#allowed + grown);
    this.#allowedAt = nowMillis;
    return Math.max(0, Math.floor(this.#allowed));
  }

  hold(count: number): void {
    if (this.#refusedRate !== null) this.#allowed -= count;
  }

  noteAccepted(nowMillis: number): void {
    this.#pausesInRow = 0;
    if (!this.isHeld(nowMillis)) this.#accepted += 1;
    const { sinceMillis, count } = this.#second;
    const age = nowMillis - sinceMillis;
    if (age >= 1000) {
      this.#second = { sinceMillis: nowMillis, count: 1, before: age < 2000 ? count : 0 };
    } else {
      this.#second.count += 1;
    }
  }

  /**
   * Notes that a request sent at `sentAt` was refused, once for all that were under way. Returns the pause in seconds.
   */
  noteRefused(
    nowMillis: number,
    { sentAt, retryAfterSeconds }: { sentAt: number; retryAfterSeconds: number | null },
  ): number {
    const isFirst = sentAt >= this.#until;
    if (isFirst) this.#pausesInRow += 1;
    const guess = Math.min(2 ** Math.max(0, this.#pausesInRow - 1), longestGuessSeconds);
    // 0, which is also what a time past comes to, says no more than nothing: the refusal shows that it is too early.
    const seconds = retryAfterSeconds || guess;
    if (isFirst) this.#lower(nowMillis, Math.min(seconds, longestGuessSeconds));
    this.#until = Math.max(this.#until, nowMillis + seconds * 1000);
    this.#allowed = 1;
    this.#allowedAt = this.#until;
    return (this.#until - nowMillis) / 1000;
  }

  #lower(nowMillis: number, pauseSeconds: number): void {
    const rate = this.#rateAt(nowMillis);
    let riseSeconds = risePauses * pauseSeconds;
    if (rate === null) {
      // A receiver that counts by the minute accepts many in one second, and then none until the minute is over.
      const { count, before } = this.#second;
      this.#refusedRate = Math.max(1, count, before) / Math.max(1, pauseSeconds);
      // This is a guess, which may be far too low: the next refusal comes sooner, and tells more.
      riseSeconds /= 4;
    } else {
      // What was refused so soon was far too much. A pause is in whole seconds, and so may be one too long.
      const sentSeconds = (nowMillis - this.#until) / 1000;
      const wholeSeconds = Math.max(1, sentSeconds + pauseSeconds - 1);
      const isSoon = sentSeconds < soonPauses * Math.max(1, pauseSeconds);
      const accepted = this.#accepted === 0 ? rate / 2 : this.#accepted / wholeSeconds;
      this.#refusedRate = isSoon ? Math.min(rate, accepted) : rate;
      riseSeconds = Math.max(shortestRiseSeconds, riseSeconds);
    }
    this.#refusedRate = Math.max(leastPerSecond, this.#refusedRate);
    this.#riseMillis = Math.min(Math.max(firstRiseSeconds, riseSeconds), longestRiseSeconds) * 1000;
    this.#accepted = 0;
  }

  /** Requests a second; null when there is no limit, or none any more. */
  #rateAt(nowMillis: number): number | null {
    if (this.#refusedRate === null) return null;
    const rises = (nowMillis - this.#until) / this.#riseMillis;
    if (rises > risesToForget) this.#refusedRate = null;
    return this.#refusedRate === null ? null : this.#refusedRate * (1 + cut * (rises - 1) ** 3);
  }
}
