import type { Due } from '../wake-up.ts';
import { afterFailure, type Breaker, closedBreaker, Rate } from './pace.ts';
import { Throttle } from './throttle.ts';

/** An endpoint that may have deliveries due, as the database describes it. */
export type EndpointFacts = Breaker & {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  /** Milliseconds until the breaker's pause ends, negative when it is over; null when the breaker is closed. */
  readonly pausedMillis: number | null;
  /** Milliseconds until its receiver takes more, negative when it does again; null when it never refused any. */
  readonly throttledMillis: number | null;
  /** Deliveries a second; null means no limit. */
  readonly ratePerSecond: number | null;
  /** Attempts under way at once, at most; null means no bound of its own. */
  readonly maxInFlight: number | null;
  readonly hasProbe: boolean;
};

/**
 * What an attempt decides: only its delivery and the window (usual); whether the breaker's pause ends (probe); or that
 * it ends, where an operator had it tried during a pause. When that fails, the pause does not double.
 */
export type AttemptRole = 'usual' | 'probe' | 'operator';

type AttemptEnd = {
  readonly isFailure: boolean;
  readonly durationMillis: number;
  /** Whether this process slept through it, or its proxy failed: that is not held against the endpoint. */
  readonly isOurs?: boolean;
  readonly role: AttemptRole;
};

/** The new state of an endpoint's breaker, and for how long its receiver wants to be left alone, to be stored. */
export type BreakerChange = Breaker & {
  readonly endpointId: string;
  /** The length of a pause that begins now; null when none begins. */
  readonly pauseSeconds: number | null;
  readonly isClosed: boolean;
  /** For how long nothing is sent, by a 429 or 503; null when that does not change. */
  readonly throttleSeconds: number | null;
};

const firstWindow = 8;
/** An endpoint whose attempts take no longer than this is brief. */
const briefMillis = 1000;
/** How many places an endpoint has at least while places are scarce, however long its attempts take. */
const leastWhenBusy = 4;

/**
 * What is known of one endpoint: what it may have due, what is under way, its pauses and its rates. So it says how many
 * of its rows may be claimed now. It knows nothing of other endpoints. All times are monotonic milliseconds.
 */
export class Endpoint {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  inFlight = 0;
  /** How many attempts have ended whose outcomes are not yet in the database. */
  unwritten = 0;
  /** The turn in which rows of this endpoint were last claimed. */
  servedAt = 0;
  /** Counts the wake-ups, so that a wake-up during a claim is noticed. */
  wakes = 0;
  /** Whether deliveries may be due that were never tried, and whether others may. */
  #hasFresh = true;
  #hasTried = true;
  #hasProbe = false;
  /** How many places it was given: the tenth of each ten goes to what was tried before. */
  #places = 0;
  /** How long its successes take, the last ones above all; 0 while there was none. */
  #successMillis = 0;
  /** How many attempts may be in flight at once. It grows by one with each success and is halved by each failure. */
  #window: number;
  #bound = Number.POSITIVE_INFINITY;
  #breaker = closedBreaker;
  /** When the breaker's pause ends; null when the breaker is closed. */
  #pausedUntil: number | null = null;
  #rate: Rate | null = null;
  readonly #throttle = new Throttle();
  /** When an outcome was last written. What the database said of the breaker before that is out of date. */
  #changedAt = Number.NEGATIVE_INFINITY;
  readonly #most: number;
  readonly #now: () => number;

  /** `most` is the most attempts that any endpoint may have in flight. */
  constructor(facts: EndpointFacts, most: number, now: () => number) {
    this.id = facts.id;
    this.lane = facts.lane;
    this.tenant = facts.tenant;
    this.#window = facts.failuresInRow === 0 ? Math.min(firstWindow, most) : 1;
    this.#most = most;
    this.#now = now;
  }

  /** Takes over what the database knows, and that deliveries are due. `askedAt` is when the database was asked. */
  learn(facts: EndpointFacts, askedAt: number): void {
    const now = this.#now();
    this.#hasFresh = true;
    this.#hasTried = true;
    this.#hasProbe = facts.hasProbe;
    this.#bound = facts.maxInFlight ?? Number.POSITIVE_INFINITY;
    this.wakes += 1;
    // While outcomes are under way, or were written after the question, the breaker known here is newer than the
    // database's answer.
    const isQuiet = this.inFlight === 0 && this.unwritten === 0;
    if (isQuiet && this.#changedAt < askedAt) {
      const { failuresInRow, pausesInRow } = facts;
      this.#breaker = { failuresInRow, pausesInRow };
      this.#pausedUntil = facts.pausedMillis === null ? null : now + facts.pausedMillis;
      this.#throttle.takeOver(now, facts.throttledMillis);
    }
    if (facts.ratePerSecond === null) this.#rate = null;
    // The old window of the rate goes on: what was sent before the limit changed still counts.
    else if (this.#rate !== null) this.#rate.perSecond = facts.ratePerSecond;
    else this.#rate = new Rate(facts.ratePerSecond);
  }

  /** Marks what is due. False means that it is paused, and has to be looked up in the database. */
  wake(due: Due): boolean {
    if (this.isHeldBack) return false;
    this.#hasFresh = true;
    if (due === 'any') this.#hasTried = true;
    this.wakes += 1;
    return true;
  }

  get isReady(): boolean {
    return this.#hasFresh || this.#hasTried;
  }

  rest(): void {
    this.#hasFresh = false;
    this.#hasTried = false;
  }

  /** Whether nothing but an operator's retry may be sent, because of the breaker or at the wish of the receiver. */
  get isPaused(): boolean {
    const now = this.#now();
    return (this.#pausedUntil !== null && now < this.#pausedUntil) || this.#throttle.isHeld(now);
  }

  /** Whether it is paused, or its pause is over and no success has closed the breaker yet. */
  get isHeldBack(): boolean {
    return this.#pausedUntil !== null || this.isPaused;
  }

  /** Whether it has rows to send and only its rate may hold them back. */
  isRateBound(isBusy: boolean): boolean {
    const hasRate = this.#rate !== null || this.#throttle.isPacing(this.#now());
    const hasRoom = this.inFlight < this.#windowWhen(isBusy);
    return this.isReady && hasRoom && this.#pausedUntil === null && hasRate;
  }

  /** Whether its attempts are known to take no longer than a second. Null while there was no success. */
  get isBrief(): boolean | null {
    return this.#successMillis === 0 ? null : this.#successMillis <= briefMillis;
  }

  /** How many more rows may be under way now. During and just after a pause it is one: its outcome decides. */
  allowance(isBusy: boolean): number {
    const { isPaused } = this;
    if (this.#pausedUntil !== null || isPaused) {
      const mayProbe = !isPaused || this.#hasProbe;
      return mayProbe && this.inFlight === 0 ? 1 : 0;
    }
    const now = this.#now();
    const free = Math.min(this.#windowWhen(isBusy) - this.inFlight, this.#throttle.available(now));
    return this.#rate === null ? free : Math.min(free, this.#rate.available(now));
  }

  /**
   * Divides places: what was never tried has nine of ten while both wait, and in a pause only an operator's retry one.
   */
  divide(count: number): { fresh: number; tried: number; onlyProbes: boolean } {
    const onlyProbes = this.isPaused;
    const tenths = Math.floor((this.#places + count) / 10) - Math.floor(this.#places / 10);
    const tried = this.#hasFresh && !onlyProbes ? (this.#hasTried ? tenths : 0) : count;
    return { fresh: count - tried, tried, onlyProbes };
  }

  /** What an attempt decides that is claimed now. */
  roleOf({ onlyProbes }: { readonly onlyProbes: boolean }): AttemptRole {
    const role = this.#pausedUntil === null ? 'usual' : 'probe';
    return onlyProbes ? 'operator' : role;
  }

  /** Gives it so many places, before its rows are looked for; a negative count takes back those not used. */
  givePlaces(count: number): void {
    this.#places += count;
    this.hold(count);
  }

  /** What is claimed uses up the rates before it is sent; a negative count gives it back. */
  hold(count: number): void {
    this.#rate?.hold(count);
    this.#throttle.hold(count);
  }

  /** Notes that a claim found less than it asked for: nothing more of this kind is due. */
  exhaust({
    isFresh,
    onlyProbes,
  }: {
    readonly isFresh: boolean;
    readonly onlyProbes: boolean;
  }): void {
    if (onlyProbes) this.#hasProbe = false;
    else if (isFresh) this.#hasFresh = false;
    else this.#hasTried = false;
  }

  /** Notes that a row is sent now; `isAgain` says that it is sent for the second time. */
  sent(isAgain: boolean): void {
    if (!isAgain) this.#rate?.hold(-1);
    this.#rate?.noteSent(this.#now());
  }

  /** Notes that an attempt has ended. Returns how the breaker changed, or null if it did not. */
  finish(attempt: AttemptEnd): BreakerChange | null {
    this.unwritten += 1;
    if (!attempt.isFailure) {
      this.#successMillis += (attempt.durationMillis - this.#successMillis) / 4;
      return this.#noteSuccess(attempt.role);
    }
    if (attempt.isOurs) return null;
    if (attempt.role !== 'operator') return this.#noteFailure(attempt.role === 'probe');
    this.#hasProbe = false;
    return null;
  }

  /**
   * Notes that its receiver refused what is too much. That says nothing of how it fares, so the breaker stays as it is.
   */
  throttled(refusal: { sentAt: number; retryAfterSeconds: number | null }): BreakerChange {
    this.unwritten += 1;
    this.#hasProbe = false;
    return this.#changed({ throttleSeconds: this.#throttle.noteRefused(this.#now(), refusal) });
  }

  /** Notes that a delivery was given up before it was sent, which says nothing of its receiver. */
  expired(): void {
    this.unwritten += 1;
    this.hold(-1);
  }

  /** Notes that an outcome is in the database, or was given up. */
  written(): void {
    this.unwritten -= 1;
    this.#changedAt = this.#now();
  }

  /** How many attempts may be in flight: while places are scarce, as many as deliver `most` a second. */
  #windowWhen(isBusy: boolean): number {
    const window = Math.min(this.#window, this.#bound);
    if (!isBusy || this.#successMillis <= briefMillis) return window;
    const brief = Math.floor((this.#most * briefMillis) / this.#successMillis);
    return Math.min(window, Math.max(leastWhenBusy, brief));
  }

  #noteSuccess(role: AttemptRole): BreakerChange | null {
    this.#window = Math.min(this.#window + 1, this.#most);
    const now = this.#now();
    const endsThrottle = role === 'operator' && this.#throttle.isHeld(now);
    if (endsThrottle) this.#throttle.forget();
    else this.#throttle.noteAccepted(now);
    const isOpen = this.#breaker.failuresInRow > 0 || this.#pausedUntil !== null;
    if (!isOpen && !endsThrottle) return null;
    this.#breaker = closedBreaker;
    this.#pausedUntil = null;
    return this.#changed({ isClosed: true, throttleSeconds: endsThrottle ? 0 : null });
  }

  #noteFailure(isProbe: boolean): BreakerChange {
    this.#window = Math.max(1, Math.floor(this.#window / 2));
    const isOpen = this.#pausedUntil !== null;
    const { breaker, pauseSeconds } = afterFailure(this.#breaker, { isOpen, isProbe });
    this.#breaker = breaker;
    if (pauseSeconds !== null) {
      this.#pausedUntil = this.#now() + pauseSeconds * 1000;
      this.#window = 1;
      this.#hasProbe = false;
    }
    return this.#changed({ pauseSeconds });
  }

  #changed(change: Partial<BreakerChange>): BreakerChange {
    const nothing = { pauseSeconds: null, isClosed: false, throttleSeconds: null };
    return { endpointId: this.id, ...this.#breaker, ...nothing, ...change };
  }
}
