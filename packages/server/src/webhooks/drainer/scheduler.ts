import type { ClaimRequest } from '../claim.ts';
import { type AttemptRole, Endpoint, type EndpointFacts } from './endpoint.ts';

export type Claim = Readonly<ClaimRequest> & {
  /** Whether the endpoint is paused, so that only an operator's retry may be claimed. */
  readonly onlyProbes: boolean;
};

type SchedulerLimits = {
  /** The most attempts in flight: of all tenants together, of one tenant, of one endpoint. */
  readonly total: number;
  readonly perTenant: number;
  readonly perEndpoint: number;
};

const maxPerEndpoint = 64;

/** A tenant may have a quarter of the attempts in flight, and one endpoint about half of that, 64 at most. */
export function limitsFor(maxInFlight: number): SchedulerLimits {
  const perTenant = Math.ceil(maxInFlight / 4);
  const perEndpoint = Math.min(maxPerEndpoint, Math.ceil(perTenant / 2));
  return { total: maxInFlight, perTenant, perEndpoint };
}

/** One of so many places is kept for tenants that have nothing in flight. */
const keptShare = 8;
/** How many of these such a tenant takes for an endpoint that is known to answer soon. */
const keptForBrief = 4;
/** When more endpoints than this are remembered, those with nothing to do are forgotten. */
const maxRemembered = 10_000;
/** How many rows of an endpoint one round takes before the next endpoint has its turn. */
const quantum = 8;

/** Decides whose deliveries are sent next: tenants take turns, and so do their endpoints. It does no I/O. */
export class Scheduler {
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #tenants = new Map<string, { inFlight: number; endpoints: Set<Endpoint> }>();
  #inFlightCount = 0;
  #turn = 0;
  readonly #limits: SchedulerLimits;
  readonly #now: () => number;

  constructor(limits: SchedulerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get inFlight(): number {
    return this.#inFlightCount;
  }

  /**
   * Takes over the database's facts about an endpoint with deliveries due. `askedAt` is when the database was asked.
   */
  learn(facts: EndpointFacts, askedAt: number): void {
    let endpoint = this.#endpoints.get(facts.id);
    if (endpoint === undefined) {
      endpoint = new Endpoint(facts, this.#limits.perEndpoint, this.#now);
      this.#endpoints.set(facts.id, endpoint);
      this.#tenantOf(endpoint).endpoints.add(endpoint);
    }
    endpoint.learn(facts, askedAt);
  }

  /** What is known of an endpoint; undefined when it has to be looked up in the database. */
  endpoint(id: string): Endpoint | undefined {
    return this.#endpoints.get(id);
  }

  /** Decides which rows to claim now, at most `limit`, by turns of `quantum` rows while there is room. */
  plan(limit: number): Claim[] {
    let free = this.#limits.total - this.#inFlightCount;
    const kept = Math.floor(this.#limits.total / keptShare);
    const rings = this.#readyByTenant();
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
          endpoint.allowance(this.#isBusy(this.#limits.total - free)) - taken,
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
    this.#turn += 1;
    return [...counts].flatMap(([endpoint, count]) => claimsOf(endpoint, count));
  }

  /**
   * Decides which deliveries may be sent without a claim of their own, of those that are about to be stored: `reports`
   * says how many a tenant makes at each of its endpoints. Endpoints that may have others due are left out, because
   * those come first, and so are paused ones and those of other drainers' lanes. Half of all places, and half of each
   * tenant's, are left to claims: not every endpoint of a tenant wants what is stored, and its place is taken until then.
   */
  planNew(reports: ReadonlyMap<string, number>, isOurs: (lane: number) => boolean): Claim[] {
    const claims: Claim[] = [];
    let room = this.#limits.total / 2 - this.#inFlightCount;
    for (const [tenant, count] of reports) {
      const known = this.#tenants.get(tenant);
      if (known === undefined) continue;
      const most = Math.max(0, Math.min(room, this.#limits.perTenant / 2 - known.inFlight));
      let left = most;
      for (const endpoint of known.endpoints) {
        if (left <= 0) break;
        if (endpoint.isReady || endpoint.isHeldBack || !isOurs(endpoint.lane)) continue;
        const share = Math.min(count, Math.floor(left), endpoint.allowance(this.#isBusy()));
        if (share <= 0) continue;
        left -= share;
        const { id: endpointId, lane } = endpoint;
        claims.push({ endpointId, lane, count: share, isFresh: true, onlyProbes: false });
      }
      room -= most - left;
    }
    return claims;
  }

  /** Books a claim as in flight before the database is asked; `settle` gets the wake-ups, and takes back the rest. */
  reserve(claim: Claim): { wakes: number; role: AttemptRole } {
    const endpoint = this.#endpoints.get(claim.endpointId);
    if (endpoint === undefined) return { wakes: 0, role: 'usual' };
    this.#move(endpoint, claim.count);
    endpoint.servedAt = this.#turn;
    endpoint.givePlaces(claim.count);
    return { wakes: endpoint.wakes, role: endpoint.roleOf(claim) };
  }

  /**
   * Notes that `found` rows are under way. With fewer than asked for, nothing more is due, unless it was woken since.
   */
  settle(claim: Claim, found: number, wakes: number): void {
    const endpoint = this.#endpoints.get(claim.endpointId);
    if (endpoint === undefined) return;
    this.#move(endpoint, found - claim.count);
    endpoint.givePlaces(found - claim.count);
    if (found < claim.count && endpoint.wakes === wakes) endpoint.exhaust(claim);
  }

  /** Notes that a claimed row is no longer under way. Returns what `note` makes of it; null for a forgotten endpoint. */
  end<Noted>(endpointId: string, note: (endpoint: Endpoint) => Noted): Noted | null {
    const endpoint = this.#endpoints.get(endpointId);
    if (endpoint === undefined) return null;
    this.#move(endpoint, -1);
    return note(endpoint);
  }

  isRateBound(): boolean {
    const isBusy = this.#isBusy();
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.isRateBound(isBusy)) return true;
    }
    return false;
  }

  /**
   * Forgets endpoints of lanes that are no longer ours, and idle ones when there are too many. A busy one of a lost
   * lane only ends what is under way: two drainers would exceed its rate together.
   */
  forget(isOurs: (lane: number) => boolean): void {
    const isFull = this.#endpoints.size > maxRemembered;
    for (const endpoint of this.#endpoints.values()) {
      const isAway = !isOurs(endpoint.lane);
      if (isAway) endpoint.rest();
      if (endpoint.inFlight + endpoint.unwritten > 0) continue;
      if (!isAway && (!isFull || endpoint.isReady)) continue;
      this.#endpoints.delete(endpoint.id);
      const tenant = this.#tenantOf(endpoint);
      tenant.endpoints.delete(endpoint);
      if (tenant.endpoints.size === 0) this.#tenants.delete(endpoint.tenant);
    }
  }

  /**
   * The endpoints that may send, in one ring for each tenant. `at` is where the ring's turn is, and `left` is how many
   * more attempts the tenant may have. A quiet one has none in flight; `taken` counts those that it gets now.
   */
  #readyByTenant() {
    type Ring = {
      endpoints: Endpoint[];
      at: number;
      left: number;
      isQuiet: boolean;
      taken: number;
    };
    const rings = new Map<string, Ring>();
    const isBusy = this.#isBusy();
    for (const endpoint of this.#endpoints.values()) {
      if (!endpoint.isReady || endpoint.allowance(isBusy) <= 0) continue;
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
        const inFlight = this.#tenants.get(endpoint.tenant)?.inFlight ?? 0;
        const left = this.#limits.perTenant - inFlight;
        const ring = { endpoints: [endpoint], at: 0, left, isQuiet: inFlight === 0, taken: 0 };
        if (left > 0) rings.set(endpoint.tenant, ring);
      }
    }
    // Another tenant comes first each time.
    const list = [...rings.values()];
    const first = list.length === 0 ? 0 : this.#turn % list.length;
    return [...list.slice(first), ...list.slice(0, first)];
  }

  /** Whether half of all places are taken, so that those whose attempts take long give way. */
  #isBusy(taken = this.#inFlightCount): boolean {
    return taken >= this.#limits.total / 2;
  }

  #move(endpoint: Endpoint, count: number): void {
    endpoint.inFlight += count;
    this.#inFlightCount += count;
    this.#tenantOf(endpoint).inFlight += count;
  }

  #tenantOf({ tenant: name }: Endpoint) {
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      tenant = { inFlight: 0, endpoints: new Set() };
      this.#tenants.set(name, tenant);
    }
    return tenant;
  }
}

function claimsOf(endpoint: Endpoint, count: number): Claim[] {
  const { id: endpointId, lane } = endpoint;
  const { fresh, tried, onlyProbes } = endpoint.divide(count);
  const claims = [
    { endpointId, lane, count: fresh, isFresh: true, onlyProbes },
    { endpointId, lane, count: tried, isFresh: false, onlyProbes },
  ];
  return claims.filter((claim) => claim.count > 0);
}

/** How many of the places that are kept an endpoint may have: one while nobody knows how long its attempts take. */
function keptFor({ isBrief }: Endpoint): number {
  return isBrief === null ? 1 : isBrief ? keptForBrief : 0;
}
