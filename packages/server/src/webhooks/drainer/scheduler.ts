import { afterFailure, type Breaker, closedBreaker, Rate } from './pace.ts';

/** An endpoint that may have deliveries due, as the database describes it. */
export type EndpointFacts = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  readonly breaker: Breaker;
  /** Until the pause of its breaker ends, negative when it is over; null: it is closed. */
  readonly pausedMillis: number | null;
  readonly ratePerSecond: number | null;
  /** Whether an operator's retry is due, which passes an open breaker. */
  readonly hasProbe: boolean;
};

/** Rows to claim of one endpoint. */
export type Claim = {
  readonly endpointId: string;
  readonly lane: number;
  readonly count: number;
  /** The endpoint is paused: only an operator's retry may go. */
  readonly onlyProbes: boolean;
};

/** What the breaker of an endpoint has become, to be stored. */
export type BreakerChange = Breaker & {
  readonly endpointId: string;
  /** Seconds of a pause that begins now; null: none begins. */
  readonly pauseSeconds: number | null;
  readonly isClosed: boolean;
};

type Endpoint = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  breaker: Breaker;
  /** Monotonic. */
  pausedUntil: number | null;
  rate: Rate | null;
  /** Deliveries may be due. */
  isReady: boolean;
  hasProbe: boolean;
  inFlight: number;
  /** Attempts that have ended but are not written to the database. */
  unwritten: number;
  /** When its breaker last changed here: what was asked for earlier is out of date. */
  changedAt: number;
  /** In flight, at most: grows by one with each success, halves with each failure. */
  window: number;
  /** The turn in which rows of it were claimed last. */
  servedAt: number;
  /** Counts the wake-ups, so that one during a claim is not lost. */
  wakes: number;
};

export type SchedulerLimits = {
  /** In flight in all, per tenant, per endpoint. */
  readonly total: number;
  readonly perTenant: number;
  readonly perEndpoint: number;
};

const maxPerEndpoint = 64;

/** Of so many at once, a tenant has a quarter, and one endpoint of it never all of that. */
export function limitsFor(maxInFlight: number): SchedulerLimits {
  const perTenant = Math.ceil(maxInFlight / 4);
  const perEndpoint = Math.min(maxPerEndpoint, Math.ceil(perTenant / 2));
  return { total: maxInFlight, perTenant, perEndpoint };
}

const firstWindow = 8;
/** Quiet endpoints are remembered up to here. */
const maxRemembered = 10_000;
/** Rows of an endpoint that one round takes before the next has its turn. */
const quantum = 8;

/**
 * Decides whose deliveries go next: tenants take turns, and the endpoints of a tenant among them. What
 * one holds is bounded by its window, which shrinks to one while it fails. Time is monotonic, in
 * milliseconds. No IO.
 */
export class Scheduler {
  private readonly endpoints = new Map<string, Endpoint>();
  private readonly tenants = new Map<string, { inFlight: number }>();
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

  /** Takes over what the database, asked at `askedAt`, says of an endpoint with deliveries due. */
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
        isReady: true,
        hasProbe: false,
        inFlight: 0,
        unwritten: 0,
        changedAt: Number.NEGATIVE_INFINITY,
        window:
          facts.breaker.failuresInRow === 0 ? Math.min(firstWindow, this.limits.perEndpoint) : 1,
        servedAt: 0,
        wakes: 0,
      };
      this.endpoints.set(facts.id, endpoint);
    }
    endpoint.isReady = true;
    endpoint.hasProbe = facts.hasProbe;
    endpoint.wakes += 1;
    const isQuiet = endpoint.inFlight === 0 && endpoint.unwritten === 0;
    if (isQuiet && endpoint.changedAt < askedAt) {
      endpoint.breaker = facts.breaker;
      endpoint.pausedUntil = facts.pausedMillis === null ? null : now + facts.pausedMillis;
    }
    if (facts.ratePerSecond === null) endpoint.rate = null;
    // What went out before a change counts.
    else if (endpoint.rate !== null) endpoint.rate.perSecond = facts.ratePerSecond;
    else endpoint.rate = new Rate(facts.ratePerSecond);
  }

  /** Marks an endpoint as due. False: it is not known here, or paused: look it up. */
  wake(endpointId: string): boolean {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined || endpoint.pausedUntil !== null) return false;
    endpoint.isReady = true;
    endpoint.wakes += 1;
    return true;
  }

  /** What to claim now, `limit` rows at most. */
  plan(limit: number): Claim[] {
    const room = Math.min(limit, this.limits.total - this.inFlightCount);
    if (room <= 0) return [];
    const rings = this.readyByTenant();
    const counts = new Map<Endpoint, number>();
    let left = room;
    while (left > 0 && rings.length > 0) {
      for (const ring of [...rings]) {
        const endpoint = ring.endpoints[ring.at % ring.endpoints.length];
        if (endpoint === undefined || left <= 0) break;
        const taken = counts.get(endpoint) ?? 0;
        const share = Math.min(quantum, left, ring.left, this.allowance(endpoint) - taken);
        if (share > 0) {
          counts.set(endpoint, taken + share);
          left -= share;
          ring.left -= share;
          ring.at += 1;
        } else {
          ring.endpoints.splice(ring.at % ring.endpoints.length, 1);
        }
        if (ring.endpoints.length === 0 || ring.left <= 0) rings.splice(rings.indexOf(ring), 1);
      }
    }
    this.turn += 1;
    return [...counts].map(([endpoint, count]) => ({
      endpointId: endpoint.id,
      lane: endpoint.lane,
      count,
      onlyProbes: this.isPaused(endpoint),
    }));
  }

  /** Books a claim as in flight before the database is asked; `settle` gives back what it did not find. */
  reserve(claim: Claim): { wakes: number; isProbe: boolean } {
    const endpoint = this.endpoints.get(claim.endpointId);
    if (endpoint === undefined) return { wakes: 0, isProbe: false };
    this.move(endpoint, claim.count);
    endpoint.servedAt = this.turn;
    endpoint.rate?.hold(claim.count);
    return { wakes: endpoint.wakes, isProbe: endpoint.pausedUntil !== null };
  }

  /** `found` rows of a claim are under way. Fewer than asked for: nothing else is due, unless woken since. */
  settle(claim: Claim, found: number, wakes: number): void {
    const endpoint = this.endpoints.get(claim.endpointId);
    if (endpoint === undefined) return;
    this.move(endpoint, found - claim.count);
    endpoint.rate?.hold(found - claim.count);
    if (found < claim.count && endpoint.wakes === wakes) {
      if (claim.onlyProbes) endpoint.hasProbe = false;
      else endpoint.isReady = false;
    }
  }

  /** A claimed row goes out now; `isAgain`: for the second time, because its connection was closed. */
  sent(endpointId: string, isAgain: boolean): void {
    const rate = this.endpoints.get(endpointId)?.rate;
    if (!isAgain) rate?.hold(-1);
    rate?.noteSent(this.now());
  }

  /** An attempt has ended. Answers how the breaker changed, if it did. */
  finish(
    endpointId: string,
    attempt: { isFailure: boolean; isProbe: boolean },
  ): BreakerChange | null {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return null;
    this.move(endpoint, -1);
    endpoint.unwritten += 1;
    return attempt.isFailure
      ? this.noteFailure(endpoint, attempt.isProbe)
      : this.noteSuccess(endpoint);
  }

  /** What `finish` was told of is in the database. */
  written(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    endpoint.unwritten -= 1;
    endpoint.changedAt = this.now();
  }

  /** Whether an endpoint waits for nothing but its rate. */
  isRateBound(): boolean {
    for (const endpoint of this.endpoints.values()) {
      const { isReady, rate, pausedUntil } = endpoint;
      const hasRoom = endpoint.inFlight < endpoint.window;
      if (isReady && hasRoom && pausedUntil === null && rate !== null) return true;
    }
    return false;
  }

  /** A claimed row that was not attempted goes back. */
  release(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    this.move(endpoint, -1);
    endpoint.rate?.hold(-1);
  }

  /**
   * Forgets endpoints of lanes that are not ours any more, and quiet ones when there are many. One that is
   * busy only ends what is under way: two drainers at it would exceed its rate.
   */
  forget(isOurs: (lane: number) => boolean): void {
    const isFull = this.endpoints.size > maxRemembered;
    for (const endpoint of this.endpoints.values()) {
      const isAway = !isOurs(endpoint.lane);
      if (isAway) endpoint.isReady = false;
      if (endpoint.inFlight + endpoint.unwritten > 0) continue;
      if (isAway || (isFull && !endpoint.isReady)) this.endpoints.delete(endpoint.id);
    }
  }

  private readyByTenant() {
    const rings = new Map<string, { endpoints: Endpoint[]; at: number; left: number }>();
    for (const endpoint of this.endpoints.values()) {
      if (!endpoint.isReady || this.allowance(endpoint) <= 0) continue;
      const ring = rings.get(endpoint.tenant);
      if (ring !== undefined) {
        // Its turn is whose last one is longest ago: not a turn of all, which tenants would share.
        const first = ring.endpoints[ring.at];
        if (first === undefined || endpoint.servedAt < first.servedAt) {
          ring.at = ring.endpoints.length;
        }
        ring.endpoints.push(endpoint);
      } else {
        const left = this.limits.perTenant - (this.tenants.get(endpoint.tenant)?.inFlight ?? 0);
        if (left > 0) rings.set(endpoint.tenant, { endpoints: [endpoint], at: 0, left });
      }
    }
    // Whoever came first last time comes last now.
    const list = [...rings.values()];
    const first = list.length === 0 ? 0 : this.turn % list.length;
    return [...list.slice(first), ...list.slice(0, first)];
  }

  /** How many more of its rows may be under way now. */
  private allowance(endpoint: Endpoint): number {
    if (endpoint.pausedUntil !== null) {
      const mayProbe = !this.isPaused(endpoint) || endpoint.hasProbe;
      return mayProbe && endpoint.inFlight === 0 ? 1 : 0;
    }
    const free = endpoint.window - endpoint.inFlight;
    return endpoint.rate === null ? free : Math.min(free, endpoint.rate.available(this.now()));
  }

  private isPaused(endpoint: Endpoint): boolean {
    return endpoint.pausedUntil !== null && this.now() < endpoint.pausedUntil;
  }

  private noteSuccess(endpoint: Endpoint): BreakerChange | null {
    endpoint.window = Math.min(endpoint.window + 1, this.limits.perEndpoint);
    if (endpoint.breaker.failuresInRow === 0 && endpoint.pausedUntil === null) return null;
    endpoint.breaker = closedBreaker;
    endpoint.pausedUntil = null;
    return { endpointId: endpoint.id, ...closedBreaker, pauseSeconds: null, isClosed: true };
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
    return { endpointId: endpoint.id, ...breaker, pauseSeconds, isClosed: false };
  }

  private move(endpoint: Endpoint, count: number): void {
    endpoint.inFlight += count;
    this.inFlightCount += count;
    const tenant = this.tenants.get(endpoint.tenant) ?? { inFlight: 0 };
    tenant.inFlight += count;
    if (tenant.inFlight === 0) this.tenants.delete(endpoint.tenant);
    else this.tenants.set(endpoint.tenant, tenant);
  }
}
