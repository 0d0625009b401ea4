import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { closedBreaker, failuresToOpen } from './pace.ts';
import { type Claim, type EndpointFacts, limitsFor, Scheduler } from './scheduler.ts';

const limits = { total: 100, perTenant: 40, perEndpoint: 16 };
let now: number;
let scheduler: Scheduler;
beforeEach(() => {
  now = 1000;
  scheduler = new Scheduler(limits, () => now);
});

const facts = (id: string, more: Partial<EndpointFacts> = {}): EndpointFacts => ({
  id,
  lane: 1,
  tenant: `tenant of ${id}`,
  breaker: closedBreaker,
  pausedMillis: null,
  ratePerSecond: null,
  hasProbe: false,
  ...more,
});

function learn(id: string, more: Partial<EndpointFacts> = {}): void {
  scheduler.learn(facts(id, more), now);
  now += 1;
}

/** Claims all that is planned, every row of it found. */
function claimAll(limit = 1000): Claim[] {
  const plan = scheduler.plan(limit);
  for (const claim of plan) {
    const { wakes } = scheduler.reserve(claim);
    scheduler.settle(claim, claim.count, wakes);
  }
  return plan;
}

function finish(id: string, isFailure: boolean, isProbe = false) {
  const change = scheduler.finish(id, { isFailure, isProbe });
  scheduler.written(id);
  return change;
}

const countOf = (plan: readonly Claim[], id: string) =>
  plan.find((claim) => claim.endpointId === id)?.count ?? 0;

/** Fails as often as it takes to open the breaker. */
function breakOpen(id: string): void {
  for (let failures = 0; failures < failuresToOpen; failures += 1) {
    const [claim] = claimAll(1);
    if (claim === undefined) throw new Error('nothing to claim');
    finish(id, true);
  }
}

describe('new deliveries', () => {
  /** Lets an endpoint be known with nothing due. */
  const idle = (id: string, more: Partial<EndpointFacts> = {}) => {
    learn(id, more);
    for (const claim of scheduler.plan(1000)) {
      const { wakes } = scheduler.reserve(claim);
      scheduler.settle(claim, 0, wakes);
    }
  };
  const planNew = (reports: Record<string, number>, isOurs = (_lane: number) => true) => {
    const plan = scheduler.planNew(new Map(Object.entries(reports)), isOurs);
    for (const claim of plan) {
      const { wakes } = scheduler.reserve(claim);
      scheduler.settle(claim, claim.count, wakes);
    }
    return Object.fromEntries(plan.map(({ endpointId, count }) => [endpointId, count]));
  };

  test('go out at once where nothing else is due', () => {
    idle('a', { tenant: 'T' });
    idle('b', { tenant: 'T' });
    expect(planNew({ T: 3, unknown: 5 })).toEqual({ a: 3, b: 3 });
    expect(planNew({ T: 100 })).toEqual({ a: 5, b: 5 });
    expect(planNew({ T: 1 })).toEqual({});
  });

  test('wait behind what is due, for the end of a pause, and for the rate', () => {
    idle('limited', { tenant: 'T', ratePerSecond: 2 });
    idle('paused', { tenant: 'T', pausedMillis: 30_000 });
    idle('behind', { tenant: 'T' });
    scheduler.wake('behind');
    expect(planNew({ T: 5 })).toEqual({ limited: 2 });
    expect(planNew({ T: 5 })).toEqual({});
  });

  test('leave half of all places and of the places of their tenant to claims', () => {
    for (let n = 0; n < 10; n += 1) {
      for (const tenant of ['T', 'U', 'V']) idle(`${tenant}${n}`, { tenant });
    }
    const sum = (plan: Record<string, number>) => Object.values(plan).reduce((a, b) => a + b, 0);
    expect(sum(planNew({ T: 50 }))).toBe(20);
    expect(sum(planNew({ T: 50, U: 50, V: 50 }))).toBe(30);
    expect(scheduler.inFlight).toBe(50);
    expect(planNew({ T: 1, U: 1, V: 1 })).toEqual({});
  });

  test('of a lane that another drainer has now are left to it', () => {
    idle('a', { tenant: 'T', lane: 1 });
    idle('b', { tenant: 'T', lane: 2 });
    expect(planNew({ T: 1 }, (lane) => lane === 2)).toEqual({ b: 1 });
  });

  test('of an endpoint that is forgotten are looked up again', () => {
    idle('a', { tenant: 'T' });
    scheduler.forget(() => false);
    expect(planNew({ T: 1 })).toEqual({});
    idle('a', { tenant: 'T' });
    expect(planNew({ T: 1 })).toEqual({ a: 1 });
  });
});

describe('sharing', () => {
  test('gives every tenant its turn before one takes all', () => {
    for (const id of ['a', 'b', 'c']) learn(id);
    const plan = claimAll(12);
    expect(plan.map((claim) => claim.count).sort((a, b) => a - b)).toEqual([4, 8]);
    expect(claimAll(12).map((claim) => claim.endpointId)).not.toEqual(
      plan.map((claim) => claim.endpointId),
    );
  });

  test('never holds more of an endpoint than its window', () => {
    learn('a');
    expect(countOf(claimAll(), 'a')).toBe(8);
    expect(claimAll()).toEqual([]);
  });

  test('holds no more than its share for a tenant of many endpoints', () => {
    for (let n = 0; n < 20; n += 1) learn(`e${n}`, { tenant: 'big' });
    learn('small');
    const plan = claimAll();
    expect(countOf(plan, 'small')).toBe(8);
    expect(scheduler.inFlight).toBe(limits.perTenant + 8);
  });

  test('gives every endpoint its turn while all that may be under way is', () => {
    scheduler = new Scheduler({ total: 1, perTenant: 1, perEndpoint: 1 }, () => now);
    const served = new Map<string, number>();
    for (const id of ['a1', 'a2', 'b1', 'b2']) learn(id, { tenant: id.slice(0, 1) });
    for (let n = 0; n < 40; n += 1) {
      for (const { endpointId } of claimAll()) {
        served.set(endpointId, (served.get(endpointId) ?? 0) + 1);
        finish(endpointId, false);
      }
    }
    expect([...served.values()]).toEqual([10, 10, 10, 10]);
  });

  test('leaves room for the other endpoints of a tenant, however few may be under way', () => {
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 10_000 }), (maxInFlight) => {
        const { perEndpoint, perTenant } = limitsFor(maxInFlight);
        expect(perEndpoint).toBeGreaterThanOrEqual(1);
        expect(perEndpoint).toBeLessThan(perTenant);
      }),
    );
    expect(limitsFor(512)).toEqual({ total: 512, perTenant: 128, perEndpoint: 64 });
  });

  test('widens the window with each success and halves it with each failure', () => {
    learn('a');
    claimAll();
    for (let n = 0; n < 8; n += 1) finish('a', false);
    learn('a');
    expect(countOf(claimAll(), 'a')).toBe(limits.perEndpoint);
    finish('a', true);
    for (let n = 0; n < 15; n += 1) scheduler.release('a');
    learn('a');
    expect(countOf(claimAll(), 'a')).toBe(limits.perEndpoint / 2);
  });

  test('keeps to a rate', () => {
    learn('a', { ratePerSecond: 3 });
    expect(countOf(claimAll(), 'a')).toBe(3);
    expect(claimAll()).toEqual([]);
    expect(scheduler.isRateBound()).toBe(true);
    now += 5000;
    expect(claimAll()).toEqual([]);
    for (let n = 0; n < 3; n += 1) scheduler.sent('a', false);
    now += 1000;
    expect(claimAll()).toEqual([]);
    now += 20;
    expect(countOf(claimAll(), 'a')).toBe(3);
    scheduler.release('a');
    expect(countOf(claimAll(), 'a')).toBe(1);
    scheduler.sent('a', false);
    // Its connection was closed: it goes out twice, and counts so.
    scheduler.sent('a', true);
    learn('a', { ratePerSecond: 5 });
    expect(countOf(claimAll(), 'a')).toBe(1);
  });

  test('never exceeds a limit and gives back all it took, whatever happens', () => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      kind: fc.constantFrom('learn', 'claim', 'succeed', 'fail'),
      found: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        scheduler = new Scheduler(limits, () => now);
        const running: string[] = [];
        for (const { id, kind, found } of steps) {
          if (kind === 'learn') learn(id, { tenant: id < 'f' ? 'big' : id });
          else if (kind === 'claim') {
            for (const claim of scheduler.plan(50)) {
              const { wakes } = scheduler.reserve(claim);
              const count = Math.min(found, claim.count);
              scheduler.settle(claim, count, wakes);
              for (let n = 0; n < count; n += 1) running.push(claim.endpointId);
            }
          } else {
            const at = running.indexOf(id);
            if (at >= 0) {
              running.splice(at, 1);
              finish(id, kind === 'fail');
            }
          }
          expect(scheduler.inFlight).toBe(running.length);
          expect(running.filter((one) => one < 'f').length).toBeLessThanOrEqual(limits.perTenant);
          expect(running.filter((one) => one === id).length).toBeLessThanOrEqual(
            limits.perEndpoint,
          );
        }
      }),
    );
  });
});

describe('what is due', () => {
  test('is nothing any more when a claim found less than it asked for', () => {
    learn('a');
    const [claim] = scheduler.plan(10);
    if (claim === undefined) throw new Error('no claim');
    const { wakes } = scheduler.reserve(claim);
    scheduler.settle(claim, 0, wakes);
    expect(scheduler.plan(10)).toEqual([]);
  });

  test('is looked at again when it was called out during the claim', () => {
    learn('a');
    const [claim] = scheduler.plan(10);
    if (claim === undefined) throw new Error('no claim');
    const { wakes } = scheduler.reserve(claim);
    expect(scheduler.wake('a')).toBe(true);
    scheduler.settle(claim, 0, wakes);
    expect(countOf(scheduler.plan(10), 'a')).toBe(8);
  });

  test('is not known of an endpoint that was never looked up', () => {
    expect(scheduler.wake('a')).toBe(false);
  });

  test('is forgotten with the lane', () => {
    learn('a');
    scheduler.forget(() => false);
    expect(scheduler.plan(10)).toEqual([]);
  });

  test('is left to others with the lane, though attempts of it are under way', () => {
    learn('a');
    claimAll(4);
    scheduler.forget(() => false);
    finish('a', false);
    expect(scheduler.plan(10)).toEqual([]);
    for (let n = 0; n < 3; n += 1) finish('a', false);
    scheduler.forget(() => false);
    expect(scheduler.wake('a')).toBe(false);
  });
});

describe('the breaker', () => {
  test('opens after 20 failures in a row and claims nothing while it is open', () => {
    learn('a');
    breakOpen('a');
    expect(claimAll()).toEqual([]);
    now += 29_000;
    expect(claimAll()).toEqual([]);
  });

  test('stays closed when a success comes in between', () => {
    learn('a');
    for (let n = 0; n < 3 * failuresToOpen; n += 1) {
      claimAll(1);
      finish('a', n % failuresToOpen !== 0);
    }
    expect(countOf(claimAll(), 'a')).toBeGreaterThan(0);
  });

  test('lets one row through when the pause is over, and more only once that succeeded', () => {
    learn('a');
    breakOpen('a');
    now += 31_000;
    expect(countOf(claimAll(), 'a')).toBe(1);
    expect(claimAll()).toEqual([]);
    expect(finish('a', false, true)).toMatchObject({ isClosed: true, failuresInRow: 0 });
    expect(countOf(claimAll(), 'a')).toBe(2);
  });

  test('pauses for twice as long when the probe fails, up to ten minutes', () => {
    learn('a');
    breakOpen('a');
    const pauses: (number | null | undefined)[] = [];
    for (let n = 0; n < 7; n += 1) {
      now += 601_000;
      claimAll();
      pauses.push(finish('a', true, true)?.pauseSeconds);
    }
    expect(pauses).toEqual([60, 120, 240, 480, 600, 600, 600]);
  });

  test("lets an operator's retry pass while it is open", () => {
    learn('a');
    breakOpen('a');
    expect(scheduler.wake('a')).toBe(false);
    learn('a', {
      breaker: { failuresInRow: 20, pausesInRow: 1 },
      pausedMillis: 30_000,
      hasProbe: true,
    });
    expect(scheduler.plan(10)).toEqual([{ endpointId: 'a', lane: 1, count: 1, onlyProbes: true }]);
  });

  test('does not lengthen the pause for what was under way when it opened', () => {
    learn('a');
    breakOpen('a');
    expect(finish('a', true)).toMatchObject({ pauseSeconds: null });
  });

  test('is taken over from the database only while nothing is newer here', () => {
    learn('a');
    const askedAt = now;
    now += 1;
    claimAll(1);
    finish('a', false);
    scheduler.learn(
      facts('a', { breaker: { failuresInRow: 20, pausesInRow: 1 }, pausedMillis: 9000 }),
      askedAt,
    );
    expect(countOf(claimAll(), 'a')).toBeGreaterThan(0);
  });
});
