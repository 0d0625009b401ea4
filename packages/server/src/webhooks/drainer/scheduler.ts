import type { Due } from '../wake-up.ts';
import { afterFailure, type Breaker, closedBreaker, Rate } from './pace.ts';
import { Throttle } from './throttle.ts';

/** An endpoint that may have deliveries due, as the database describes it. */
export type EndpointFacts = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  readonly breaker: Breaker;
  /** Milliseconds until the breaker's pause ends, negative when it is over; null when the breaker is closed. */
  readonly pausedMillis: number | null;
  /** Milliseconds until its receiver takes more, negative when it does again; null when it never refused any. */
  readonly throttledMillis: number | null;
  /** Deliveries a second; null means no limit. */
  readonly ratePerSecond: number | null;
  /** Whether an operator's retry waits, which may pass an open breaker. */
  readonly hasProbe: boolean;
};

/** How many rows to claim of one endpoint. */
export type Claim = {
  readonly endpointId: string;
  readonly lane: number;
  readonly count: number;
  /** Whether those are meant that were never tried; otherwise those that wait for another attempt. */
  readonly isFresh: boolean;
  /** Whether the endpoint is paused, so that only an operator's retry may be claimed. */
  readonly onlyProbes: boolean;
};

/**
 * What an attempt decides: nothing but its delivery and the endpoint's window (usual); whether the breaker's pause ends
 * (probe); or that it ends, where an operator had a delivery tried during a pause. When that fails, the pause stays as
 * it is: each retry by hand would otherwise double it.
 */
export type AttemptRole = 'usual' | 'probe' | 'operator';

/** The new state of an endpoint's breaker, and for how long its receiver wants to be left alone, to be stored. */
export type BreakerChange = Breaker & {
  readonly endpointId: string;
  /** The length of a pause that begins now; null when none begins. */
  readonly pauseSeconds: number | null;
  /** Whether a success has closed the breaker. */
  readonly isClosed: boolean;
  /** For how long nothing is sent, by a 429 or 503; null when that does not change. */
  readonly throttleSeconds: number | null;
};

type Endpoint = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  breaker: Breaker;
  /** When the breaker's pause ends, in monotonic milliseconds; null when the breaker is closed. */
  pausedUntil: number | null;
  rate: Rate | null;
  readonly throttle: Throttle;
  /** Whether deliveries may be due that were never tried, and whether others may. */
  hasFresh: boolean;
  hasTried: boolean;
  /** How many places it was given: the tenth of each ten goes to what was tried before. */
  places: number;
  hasProbe: boolean;
  inFlight: number;
  /** How many attempts have ended whose outcomes are not yet in the database. */
  unwritten: number;
  /** When an outcome was last written. What the database said of the breaker before that is out of date. */
  changedAt: number;
  /** How many attempts may be in flight at once. It grows by one with each success and is halved by each failure. */
  window: number;
  /** How long its successes take, the last ones above all. */
  successMillis: number;
  /** The turn in which rows of this endpoint were last claimed. */
  servedAt: number;
  /** Counts the wake-ups, so that a wake-up during a claim is noticed. */
  wakes: number;
};

export type SchedulerLimits = {
  /** The most attempts in flight: of all tenants together, of one tenant, of one endpoint. */
  readonly total: number;
  readonly perTenant: number;
  readonly perEndpoint: number;
};

const maxPerEndpoint = 64;

/**
 * Divides up the attempts in flight: a tenant may have a quarter of them, and one endpoint about half of that, 64 at
 * most, so that no single endpoint uses up its tenant's part.
 */
export function limitsFor(maxInFlight: number): SchedulerLimits {
  const perTenant = Math.ceil(maxInFlight / 4);
  const perEndpoint = Math.min(maxPerEndpoint, Math.ceil(perTenant / 2));
  return { total: maxInFlight, perTenant, perEndpoint };
}

const firstWindow = 8;
/**
 * While half of all places are taken, an endpoint may have as many as deliver `perEndpoint` a second: those whose
 * attempts take 12 s would otherwise hold what others need for 30 ms.
 */
const briefMillis = 1000;
const leastWhenBusy = 4;
/** One of so many places is kept for tenants that have nothing in flight. */
const keptShare = 8;
/** How many of these such a tenant takes for an endpoint that is known to answer soon. */
const keptForBrief = 4;
/** When more endpoints than this are remembered, those with nothing to do are forgotten. */
const maxRemembered = 10_000;
/** How many rows of an endpoint one round takes before the next endpoint has its turn. */
const quantum = 8;

/**
 * Decides whose deliveries are sent next. Tenants take turns, and so do the endpoints of a tenant. Each endpoint is
 * bounded by its window, which shrinks to one while the endpoint fails, and while places are scarce to few where
 * attempts take long. All times are monotonic milliseconds. The class
 * does no I/O.
 */
export class Scheduler {
  private readonly endpoints = new Map<string, Endpoint>();
  private readonly tenants = new Map<string, { inFlight: number; endpoints: Set<Endpoint> }>();
  private inFlightCount = 0;
  private turn = 0;
  private readonly limits: SchedulerLimits;
  private readonly now: () => number;

  constructor(limits: SchedulerLimits, now: () => number) {
    this.limits = limits;
    this.now = now;
  }

  get inFlight(): number {
    return this.inFlightCount;
  }

  /**
   * Takes over the database's facts about an endpoint with deliveries due. `askedAt` is when the database was asked.
   */
  learn(facts: EndpointFacts, askedAt: number): void {
    const now = this.now();
    let endpoint = this.endpoints.get(facts.id);
    if (endpoint === undefined) {
      endpoint = {
        id: facts.id,
        lane: facts.lane,
        tenant: facts.tenant,
        breaker: closedBreaker,
        pausedUntil: null,
        rate: null,
        throttle: new Throttle(),
        hasFresh: true,
        hasTried: true,
        places: 0,
        hasProbe: false,
        inFlight: 0,
        unwritten: 0,
        changedAt: Number.NEGATIVE_INFINITY,
        window:
          facts.breaker.failuresInRow === 0 ? Math.min(firstWindow, this.limits.perEndpoint) : 1,
        successMillis: 0,
        servedAt: 0,
        wakes: 0,
      };
      this.endpoints.set(facts.id, endpoint);
      this.tenantOf(endpoint).endpoints.add(endpoint);
    }
    endpoint.hasFresh = true;
    endpoint.hasTried = true;
    endpoint.hasProbe = facts.hasProbe;
    endpoint.wakes += 1;
    // While outcomes are under way, or were written after the question, the breaker known here is newer than the
    // database's answer.
    const isQuiet = endpoint.inFlight === 0 && endpoint.unwritten === 0;
    if (isQuiet && endpoint.changedAt < askedAt) {
      endpoint.breaker = facts.breaker;
      endpoint.pausedUntil = facts.pausedMillis === null ? null : now + facts.pausedMillis;
      endpoint.throttle.takeOver(now, facts.throttledMillis);
    }
    if (facts.ratePerSecond === null) endpoint.rate = null;
    // The old window of the rate goes on: what was sent before the limit changed still counts.
    else if (endpoint.rate !== null) endpoint.rate.perSecond = facts.ratePerSecond;
    else endpoint.rate = new Rate(facts.ratePerSecond);
  }

  /**
   * Marks what is due at an endpoint. False means that it is unknown here or paused, and has to be looked up in the database.
   */
  wake(endpointId: string, due: Due): boolean {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined || endpoint.pausedUntil !== null || this.isPaused(endpoint)) {
      return false;
    }
    endpoint.hasFresh = true;
    if (due === 'any') endpoint.hasTried = true;
    endpoint.wakes += 1;
    return true;
  }

  /**
   * Decides which rows to claim now, at most `limit`. Tenants take turns of `quantum` rows until the room, the tenants'
   * parts or the endpoints' allowances are used up.
   */
  plan(limit: number): Claim[] {
    let free = this.limits.total - this.inFlightCount;
    const kept = Math.floor(this.limits.total / keptShare);
    const rings = this.readyByTenant();
    const counts = new Map<Endpoint, number>();
    let left = limit;
    while (left > 0 && free > 0 && rings.length > 0) {
      for (const ring of [...rings]) {
        const endpoint = ring.endpoints[ring.at % ring.endpoints.length];
        if (endpoint === undefined || left <= 0) break;
        const taken = counts.get(endpoint) ?? 0;
        const room = Math.max(
          free - kept,
          Math.min(free, ring.isQuiet ? keptFor(endpoint) - ring.taken : 0),
        );
        const share = Math.min(
          quantum,
          left,
          room,
          ring.left,
          this.allowance(endpoint, this.limits.total - free) - taken,
        );
        if (share > 0) {
          counts.set(endpoint, taken + share);
          left -= share;
          free -= share;
          ring.left -= share;
          ring.taken += share;
          ring.at += 1;
        } else {
          ring.endpoints.splice(ring.at % ring.endpoints.length, 1);
        }
        if (ring.endpoints.length === 0 || ring.left <= 0) rings.splice(rings.indexOf(ring), 1);
      }
    }
    this.turn += 1;
    return [...counts].flatMap(([endpoint, count]) => this.claimsOf(endpoint, count));
  }

  /** Divides the places of an endpoint: what was never tried goes first, in nine of ten places while both wait. */
  private claimsOf(endpoint: Endpoint, count: number): Claim[] {
    const { id: endpointId, lane, hasFresh, hasTried, places } = endpoint;
    const onlyProbes = this.isPaused(endpoint);
    const tenths = Math.floor((places + count) / 10) - Math.floor(places / 10);
    const tried = hasFresh && !onlyProbes ? (hasTried ? tenths : 0) : count;
    const claims = [
      { endpointId, lane, count: count - tried, isFresh: true, onlyProbes },
      { endpointId, lane, count: tried, isFresh: false, onlyProbes },
    ];
    return claims.filter((claim) => claim.count > 0);
  }

  /**
   * Decides which deliveries may be sent without a claim of their own, of those that are about to be stored: `reports`
   * says how many a tenant makes at each of its endpoints. Endpoints that may have others due are left out, because
   * those come first, and so are paused ones and those of other drainers' lanes. Half of all places, and half of each
   * tenant's, are left to claims: not every endpoint of a tenant wants what is stored, and its place is taken until then.
   */
  planNew(reports: ReadonlyMap<string, number>, isOurs: (lane: number) => boolean): Claim[] {
    const claims: Claim[] = [];
    let room = this.limits.total / 2 - this.inFlightCount;
    for (const [tenant, count] of reports) {
      const known = this.tenants.get(tenant);
      if (known === undefined) continue;
      const most = Math.max(0, Math.min(room, this.limits.perTenant / 2 - known.inFlight));
      let left = most;
      for (const endpoint of known.endpoints) {
        if (left <= 0) break;
        const { pausedUntil, lane } = endpoint;
        if (isReady(endpoint) || pausedUntil !== null || !isOurs(lane)) continue;
        if (this.isPaused(endpoint)) continue;
        const share = Math.min(count, Math.floor(left), this.allowance(endpoint));
        if (share <= 0) continue;
        left -= share;
        const claim = { endpointId: endpoint.id, lane, count: share, isFresh: true };
        claims.push({ ...claim, onlyProbes: false });
      }
      room -= most - left;
    }
    return claims;
  }

  /**
   * Books a claim as in flight before the database is asked; `settle` takes back what was not found. The returned count
   * of wake-ups is handed to `settle`.
   */
  reserve(claim: Claim): { wakes: number; role: AttemptRole } {
    const endpoint = this.endpoints.get(claim.endpointId);
    if (endpoint === undefined) return { wakes: 0, role: 'usual' };
    this.move(endpoint, claim.count);
    endpoint.servedAt = this.turn;
    endpoint.places += claim.count;
    hold(endpoint, claim.count);
    const role = endpoint.pausedUntil === null ? 'usual' : 'probe';
    return { wakes: endpoint.wakes, role: claim.onlyProbes ? 'operator' : role };
  }

  /**
   * Notes that `found` rows of a claim are under way. If these are fewer than asked for, nothing more of this kind is
   * due at the endpoint, unless it was woken since `wakes` was counted.
   */
  settle(claim: Claim, found: number, wakes: number): void {
    const endpoint = this.endpoints.get(claim.endpointId);
    if (endpoint === undefined) return;
    this.move(endpoint, found - claim.count);
    hold(endpoint, found - claim.count);
    endpoint.places += found - claim.count;
    if (found < claim.count && endpoint.wakes === wakes) {
      if (claim.onlyProbes) endpoint.hasProbe = false;
      else if (claim.isFresh) endpoint.hasFresh = false;
      else endpoint.hasTried = false;
    }
  }

  /**
   * Notes that a claimed row is sent now. `isAgain` says that it is sent for the second time, because its connection
   * was closed.
   */
  sent(endpointId: string, isAgain: boolean): void {
    const rate = this.endpoints.get(endpointId)?.rate;
    if (!isAgain) rate?.hold(-1);
    rate?.noteSent(this.now());
  }

  /**
   * Notes that an attempt has ended. A failure that this process slept through is not held against its endpoint.
   * Returns how the breaker changed, or null if it did not.
   */
  finish(
    endpointId: string,
    attempt: {
      isFailure: boolean;
      durationMillis: number;
      isOverslept?: boolean;
      role: AttemptRole;
    },
  ): BreakerChange | null {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return null;
    this.move(endpoint, -1);
    endpoint.unwritten += 1;
    if (!attempt.isFailure) {
      endpoint.successMillis += (attempt.durationMillis - endpoint.successMillis) / 4;
      return this.noteSuccess(endpoint, attempt.role);
    }
    if (attempt.isOverslept) return null;
    if (attempt.role !== 'operator') return this.noteFailure(endpoint, attempt.role === 'probe');
    endpoint.hasProbe = false;
    return null;
  }

  /**
   * Notes that the receiver of an attempt refused what is too much. That says nothing of how it fares, so the breaker
   * stays as it is.
   */
  throttled(
    endpointId: string,
    refusal: { sentAt: number; retryAfterSeconds: number | null },
  ): BreakerChange | null {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return null;
    this.move(endpoint, -1);
    endpoint.unwritten += 1;
    endpoint.hasProbe = false;
    const throttleSeconds = endpoint.throttle.noteRefused(this.now(), refusal);
    return { ...unchanged(endpoint), throttleSeconds };
  }

  /** Notes that an outcome which `finish` was told of is in the database, or was given up. */
  written(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    endpoint.unwritten -= 1;
    endpoint.changedAt = this.now();
  }

  /** Whether some endpoint has rows to send and only its rate may hold them back. */
  isRateBound(): boolean {
    const now = this.now();
    for (const endpoint of this.endpoints.values()) {
      const { rate, throttle, pausedUntil } = endpoint;
      const hasRoom = endpoint.inFlight < this.windowOf(endpoint);
      const hasRate = rate !== null || throttle.isPacing(now);
      if (isReady(endpoint) && hasRoom && pausedUntil === null && hasRate) return true;
    }
    return false;
  }

  /** Notes that a claimed row was given back without an attempt. */
  release(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    this.move(endpoint, -1);
    hold(endpoint, -1);
  }

  /**
   * Forgets the endpoints of lanes that are no longer this drainer's, and idle ones when there are too many. A busy
   * endpoint of a lost lane only ends what is under way: if two drainers went on claiming for it, they would exceed its
   * rate together.
   */
  forget(isOurs: (lane: number) => boolean): void {
    const isFull = this.endpoints.size > maxRemembered;
    for (const endpoint of this.endpoints.values()) {
      const isAway = !isOurs(endpoint.lane);
      if (isAway) {
        endpoint.hasFresh = false;
        endpoint.hasTried = false;
      }
      if (endpoint.inFlight + endpoint.unwritten > 0) continue;
      if (!isAway && (!isFull || isReady(endpoint))) continue;
      this.endpoints.delete(endpoint.id);
      const tenant = this.tenantOf(endpoint);
      tenant.endpoints.delete(endpoint);
      if (tenant.endpoints.size === 0) this.tenants.delete(endpoint.tenant);
    }
  }

  /**
   * The endpoints that may send, in one ring for each tenant. `at` is where the ring's turn is, and `left` is how many
   * more attempts the tenant may have. A quiet one has none in flight; `taken` counts those that it gets now.
   */
  private readyByTenant() {
    type Ring = {
      endpoints: Endpoint[];
      at: number;
      left: number;
      isQuiet: boolean;
      taken: number;
    };
    const rings = new Map<string, Ring>();
    for (const endpoint of this.endpoints.values()) {
      if (!isReady(endpoint) || this.allowance(endpoint) <= 0) continue;
      const ring = rings.get(endpoint.tenant);
      if (ring !== undefined) {
        // The ring starts at the endpoint that was served longest ago. A turn counter for all tenants would not do,
        // because each tenant's turns advance it for the others.
        const first = ring.endpoints[ring.at];
        if (first === undefined || endpoint.servedAt < first.servedAt) {
          ring.at = ring.endpoints.length;
        }
        ring.endpoints.push(endpoint);
      } else {
        const inFlight = this.tenants.get(endpoint.tenant)?.inFlight ?? 0;
        const left = this.limits.perTenant - inFlight;
        const ring = { endpoints: [endpoint], at: 0, left, isQuiet: inFlight === 0, taken: 0 };
        if (left > 0) rings.set(endpoint.tenant, ring);
      }
    }
    // Another tenant comes first each time.
    const list = [...rings.values()];
    const first = list.length === 0 ? 0 : this.turn % list.length;
    return [...list.slice(first), ...list.slice(0, first)];
  }

  /**
   * How many more rows of the endpoint may be under way now. A paused endpoint, or one whose breaker's pause has just
   * ended, sends one row at a time: its outcome decides whether the pause ends.
   */
  private allowance(endpoint: Endpoint, busy = this.inFlightCount): number {
    const now = this.now();
    const isPaused = this.isPaused(endpoint);
    if (endpoint.pausedUntil !== null || isPaused) {
      const mayProbe = !isPaused || endpoint.hasProbe;
      return mayProbe && endpoint.inFlight === 0 ? 1 : 0;
    }
    const { rate, throttle } = endpoint;
    const free = Math.min(
      this.windowOf(endpoint, busy) - endpoint.inFlight,
      throttle.available(now),
    );
    return rate === null ? free : Math.min(free, rate.available(now));
  }

  /** How many attempts may be in flight at the endpoint: those that take long give way while places are scarce. */
  private windowOf({ window, successMillis }: Endpoint, busy = this.inFlightCount): number {
    const { total, perEndpoint } = this.limits;
    if (busy < total / 2 || successMillis <= briefMillis) return window;
    const brief = Math.floor((perEndpoint * briefMillis) / successMillis);
    return Math.min(window, Math.max(leastWhenBusy, brief));
  }

  /** Whether nothing but an operator's retry may be sent, because of the breaker or at the wish of the receiver. */
  private isPaused({ pausedUntil, throttle }: Endpoint): boolean {
    const now = this.now();
    return (pausedUntil !== null && now < pausedUntil) || throttle.isHeld(now);
  }

  private noteSuccess(endpoint: Endpoint, role: AttemptRole): BreakerChange | null {
    endpoint.window = Math.min(endpoint.window + 1, this.limits.perEndpoint);
    const now = this.now();
    const endsThrottle = role === 'operator' && endpoint.throttle.isHeld(now);
    if (endsThrottle) endpoint.throttle.forget();
    else endpoint.throttle.noteAccepted(now);
    const isOpen = endpoint.breaker.failuresInRow > 0 || endpoint.pausedUntil !== null;
    if (!isOpen && !endsThrottle) return null;
    endpoint.breaker = closedBreaker;
    endpoint.pausedUntil = null;
    return { ...unchanged(endpoint), isClosed: true, throttleSeconds: endsThrottle ? 0 : null };
  }

  private noteFailure(endpoint: Endpoint, isProbe: boolean): BreakerChange {
    endpoint.window = Math.max(1, Math.floor(endpoint.window / 2));
    const isOpen = endpoint.pausedUntil !== null;
    const { breaker, pauseSeconds } = afterFailure(endpoint.breaker, { isOpen, isProbe });
    endpoint.breaker = breaker;
    if (pauseSeconds !== null) {
      endpoint.pausedUntil = this.now() + pauseSeconds * 1000;
      endpoint.window = 1;
      endpoint.hasProbe = false;
    }
    return { ...unchanged(endpoint), pauseSeconds };
  }

  private move(endpoint: Endpoint, count: number): void {
    endpoint.inFlight += count;
    this.inFlightCount += count;
    this.tenantOf(endpoint).inFlight += count;
  }

  private tenantOf({ tenant: name }: Endpoint) {
    let tenant = this.tenants.get(name);
    if (tenant === undefined) {
      tenant = { inFlight: 0, endpoints: new Set() };
      this.tenants.set(name, tenant);
    }
    return tenant;
  }
}

/** How many of the places that are kept an endpoint may have: one while nobody knows how long its attempts take. */
function keptFor({ successMillis }: Endpoint): number {
  if (successMillis === 0) return 1;
  return successMillis <= briefMillis ? keptForBrief : 0;
}

/** Whether deliveries may be due. */
function isReady({ hasFresh, hasTried }: Endpoint): boolean {
  return hasFresh || hasTried;
}

/** What is claimed uses up the rates before it is sent; a negative count gives it back. */
function hold({ rate, throttle }: Endpoint, count: number): void {
  rate?.hold(count);
  throttle.hold(count);
}

function unchanged({ id, breaker }: Endpoint): BreakerChange {
  const nothing = { pauseSeconds: null, isClosed: false, throttleSeconds: null };
  return { endpointId: id, ...breaker, ...nothing };
}
