import { afterFailure, type Breaker, closedBreaker, Rate } from './pace.ts';

/** An endpoint that may have deliveries due, as the database describes it. */
export type EndpointFacts = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  readonly breaker: Breaker;
  /** Milliseconds until the breaker's pause ends, negative when it is over; null when the breaker is closed. */
  readonly pausedMillis: number | null;
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
  /** Whether the endpoint is paused, so that only an operator's retry may be claimed. */
  readonly onlyProbes: boolean;
};

/** The new state of an endpoint's breaker, to be stored. */
export type BreakerChange = Breaker & {
  readonly endpointId: string;
  /** The length of a pause that begins now; null when none begins. */
  readonly pauseSeconds: number | null;
  /** Whether a success has closed the breaker. */
  readonly isClosed: boolean;
};

type Endpoint = {
  readonly id: string;
  readonly lane: number;
  readonly tenant: string;
  breaker: Breaker;
  /** When the breaker's pause ends, in monotonic milliseconds; null when the breaker is closed. */
  pausedUntil: number | null;
  rate: Rate | null;
  /** Whether deliveries may be due. */
  isReady: boolean;
  hasProbe: boolean;
  inFlight: number;
  /** How many attempts have ended whose outcomes are not yet in the database. */
  unwritten: number;
  /** When an outcome was last written. What the database said of the breaker before that is out of date. */
  changedAt: number;
  /** How many attempts may be in flight at once. It grows by one with each success and is halved by each failure. */
  window: number;
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
/** When more endpoints than this are remembered, those with nothing to do are forgotten. */
const maxRemembered = 10_000;
/** How many rows of an endpoint one round takes before the next endpoint has its turn. */
const quantum = 8;

/**
 * Decides whose deliveries are sent next. Tenants take turns, and so do the endpoints of a tenant. Each endpoint is
 * bounded by its window, which shrinks to one while the endpoint fails. All times are monotonic milliseconds. The class
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
      this.tenantOf(endpoint).endpoints.add(endpoint);
    }
    endpoint.isReady = true;
    endpoint.hasProbe = facts.hasProbe;
    endpoint.wakes += 1;
    // While outcomes are under way, or were written after the question, the breaker known here is newer than the
    // database's answer.
    const isQuiet = endpoint.inFlight === 0 && endpoint.unwritten === 0;
    if (isQuiet && endpoint.changedAt < askedAt) {
      endpoint.breaker = facts.breaker;
      endpoint.pausedUntil = facts.pausedMillis === null ? null : now + facts.pausedMillis;
    }
    if (facts.ratePerSecond === null) endpoint.rate = null;
    // The old window of the rate goes on: what was sent before the limit changed still counts.
    else if (endpoint.rate !== null) endpoint.rate.perSecond = facts.ratePerSecond;
    else endpoint.rate = new Rate(facts.ratePerSecond);
  }

  /**
   * Marks an endpoint as due. False means that it is unknown here or paused, and has to be looked up in the database.
   */
  wake(endpointId: string): boolean {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined || endpoint.pausedUntil !== null) return false;
    endpoint.isReady = true;
    endpoint.wakes += 1;
    return true;
  }

  /**
   * Decides which rows to claim now, at most `limit`. Tenants take turns of `quantum` rows until the room, the tenants'
   * parts or the endpoints' allowances are used up.
   */
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
        const { isReady, pausedUntil, lane } = endpoint;
        if (isReady || pausedUntil !== null || !isOurs(lane)) continue;
        const share = Math.min(count, Math.floor(left), this.allowance(endpoint));
        if (share <= 0) continue;
        left -= share;
        claims.push({ endpointId: endpoint.id, lane, count: share, onlyProbes: false });
      }
      room -= most - left;
    }
    return claims;
  }

  /**
   * Books a claim as in flight before the database is asked; `settle` takes back what was not found. The returned count
   * of wake-ups is handed to `settle`.
   */
  reserve(claim: Claim): { wakes: number; isProbe: boolean } {
    const endpoint = this.endpoints.get(claim.endpointId);
    if (endpoint === undefined) return { wakes: 0, isProbe: false };
    this.move(endpoint, claim.count);
    endpoint.servedAt = this.turn;
    endpoint.rate?.hold(claim.count);
    return { wakes: endpoint.wakes, isProbe: endpoint.pausedUntil !== null };
  }

  /**
   * Notes that `found` rows of a claim are under way. If these are fewer than asked for, nothing more is due at the
   * endpoint, unless it was woken since `wakes` was counted.
   */
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

  /**
   * Notes that a claimed row is sent now. `isAgain` says that it is sent for the second time, because its connection
   * was closed.
   */
  sent(endpointId: string, isAgain: boolean): void {
    const rate = this.endpoints.get(endpointId)?.rate;
    if (!isAgain) rate?.hold(-1);
    rate?.noteSent(this.now());
  }

  /** Notes that an attempt has ended. Returns how the breaker changed, or null if it did not. */
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

  /** Notes that an outcome which `finish` was told of is in the database, or was given up. */
  written(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    endpoint.unwritten -= 1;
    endpoint.changedAt = this.now();
  }

  /** Whether some endpoint has rows to send and only its rate limit may hold them back. */
  isRateBound(): boolean {
    for (const endpoint of this.endpoints.values()) {
      const { isReady, rate, pausedUntil } = endpoint;
      const hasRoom = endpoint.inFlight < endpoint.window;
      if (isReady && hasRoom && pausedUntil === null && rate !== null) return true;
    }
    return false;
  }

  /** Notes that a claimed row was given back without an attempt. */
  release(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    this.move(endpoint, -1);
    endpoint.rate?.hold(-1);
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
      if (isAway) endpoint.isReady = false;
      if (endpoint.inFlight + endpoint.unwritten > 0) continue;
      if (!isAway && (!isFull || endpoint.isReady)) continue;
      this.endpoints.delete(endpoint.id);
      const tenant = this.tenantOf(endpoint);
      tenant.endpoints.delete(endpoint);
      if (tenant.endpoints.size === 0) this.tenants.delete(endpoint.tenant);
    }
  }

  /**
   * The endpoints that may send, in one ring for each tenant. `at` is where the ring's turn is, and `left` is how many
   * more attempts the tenant may have.
   */
  private readyByTenant() {
    const rings = new Map<string, { endpoints: Endpoint[]; at: number; left: number }>();
    for (const endpoint of this.endpoints.values()) {
      if (!endpoint.isReady || this.allowance(endpoint) <= 0) continue;
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
        const left = this.limits.perTenant - (this.tenants.get(endpoint.tenant)?.inFlight ?? 0);
        if (left > 0) rings.set(endpoint.tenant, { endpoints: [endpoint], at: 0, left });
      }
    }
    // Another tenant comes first each time.
    const list = [...rings.values()];
    const first = list.length === 0 ? 0 : this.turn % list.length;
    return [...list.slice(first), ...list.slice(0, first)];
  }

  /**
   * How many more rows of the endpoint may be under way now. A paused endpoint, or one whose pause has just ended,
   * sends one row at a time: its outcome decides whether the pause ends.
   */
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
