import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { closedBreaker, failuresToOpen } from './pace.ts';
import {
  type AttemptRole,
  type Claim,
  type EndpointFacts,
  limitsFor,
  Scheduler,
} from './scheduler.ts';

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
  throttledMillis: null,
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

function finish(id: string, isFailure: boolean, role: AttemptRole = 'usual') {
  const change = scheduler.finish(id, { isFailure, durationMillis: 30, role });
  scheduler.written(id);
  return change;
}

const countOf = (plan: readonly Claim[], id: string, kinds = [true, false]) =>
  plan
    .filter((claim) => claim.endpointId === id && kinds.includes(claim.isFresh))
    .reduce((sum, claim) => sum + claim.count, 0);

/** Claims of both kinds, and finds nothing due. */
function claimNothing(): void {
  for (let kinds = 0; kinds < 2; kinds += 1) {
    for (const claim of scheduler.plan(1000)) {
      const { wakes } = scheduler.reserve(claim);
      scheduler.settle(claim, 0, wakes);
    }
  }
}

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
    claimNothing();
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
    scheduler.wake('behind', 'any');
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

describe('what was never tried', () => {
  /** How many of each kind an endpoint has due, and what is claimed of it, place by place. */
  const claim = (due: { fresh: number; tried: number }, limit: number) => {
    const sum = { fresh: 0, tried: 0 };
    for (const claimed of scheduler.plan(limit)) {
      const kind = claimed.isFresh ? 'fresh' : 'tried';
      const { wakes } = scheduler.reserve(claimed);
      const found = Math.min(claimed.count, due[kind]);
      scheduler.settle(claimed, found, wakes);
      due[kind] -= found;
      sum[kind] += found;
      for (let n = 0; n < found; n += 1) finish('a', false);
    }
    return sum;
  };

  test.each([1, 3, 10, 16])('has nine of ten places while both wait, %i at a time', (limit) => {
    learn('a');
    const due = { fresh: 1000, tried: 1000 };
    const sum = { fresh: 0, tried: 0 };
    while (sum.fresh + sum.tried < 500) {
      const { fresh, tried } = claim(due, limit);
      sum.fresh += fresh;
      sum.tried += tried;
    }
    expect(sum.tried / (sum.fresh + sum.tried)).toBeCloseTo(0.1, 1);
  });

  test('leaves all places to the others when there is none, and takes them when it comes', () => {
    learn('a');
    const due = { fresh: 0, tried: 1000 };
    claim(due, 8);
    expect(claim(due, 8)).toEqual({ fresh: 0, tried: 8 });
    due.fresh = 1;
    scheduler.wake('a', 'fresh');
    expect(claim(due, 1).fresh + claim(due, 1).fresh).toBe(1);
  });

  test('does not make a look for others where none wait', () => {
    learn('a');
    const due = { fresh: 0, tried: 0 };
    while (scheduler.plan(8).length > 0) claim(due, 8);
    scheduler.wake('a', 'fresh');
    expect(scheduler.plan(8).map(({ isFresh }) => isFresh)).toEqual([true]);
  });
});

describe('slow tenants that succeed', () => {
  const quietMillis = 100;

  /**
   * Lets slow tenants and quiet ones send for a minute: the slow ones have no end of deliveries that take 12 s, each
   * quiet one makes one every 100 ms that takes 30 ms. Answers how long the quiet ones waited for a place, sorted, and
   * how many places the slow ones had at most.
   */
  function play({ slow, endpoints, quiet }: { slow: number; endpoints: number; quiet: number }) {
    scheduler = new Scheduler(limitsFor(512), () => now);
    for (let n = 0; n < slow * endpoints; n += 1) learn(`s${n}`, { tenant: `slow ${n % slow}` });
    const due = new Map<string, number[]>();
    for (let n = 0; n < quiet; n += 1) {
      learn(`q${n}`);
      due.set(`q${n}`, []);
    }
    let running: { id: string; endsAt: number; durationMillis: number }[] = [];
    const waits: number[] = [];
    let most = 0;
    const from = now;
    for (; now < from + 60_000; now += 10) {
      for (const { id, endsAt, durationMillis } of running) {
        if (endsAt > now) continue;
        scheduler.finish(id, { isFailure: false, durationMillis, role: 'usual' });
        scheduler.written(id);
      }
      running = running.filter(({ endsAt }) => endsAt > now);
      for (const [id, times] of due) {
        if (Math.floor(now / quietMillis) === Math.floor((now - 10) / quietMillis)) continue;
        times.push(now);
        scheduler.wake(id, 'fresh');
      }
      for (const claim of scheduler.plan(256)) {
        const { wakes } = scheduler.reserve(claim);
        const times = due.get(claim.endpointId);
        const waiting = claim.isFresh ? (times?.length ?? claim.count) : 0;
        const found = Math.min(claim.count, waiting);
        scheduler.settle(claim, found, wakes);
        for (const at of times?.splice(0, found) ?? []) waits.push(now - at);
        const durationMillis = times === undefined ? 12_000 : 30;
        const made = { id: claim.endpointId, endsAt: now + durationMillis, durationMillis };
        for (let n = 0; n < found; n += 1) running.push(made);
      }
      const held = running.filter(({ durationMillis }) => durationMillis > 30);
      most = Math.max(most, held.length);
    }
    const unsent = [...due.values()].flat().map((at) => now - at);
    return { waits: [...waits, ...unsent].sort((a, b) => a - b), most };
  }

  test.each([
    { slow: 6, endpoints: 1, quiet: 5 },
    { slow: 6, endpoints: 20, quiet: 5 },
    { slow: 100, endpoints: 3, quiet: 5 },
  ])('leave a place to quiet ones at once: $slow with $endpoints endpoints each', (world) => {
    const { waits } = play(world);
    expect(waits.length).toBeGreaterThan(2900);
    expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(50);
  });

  test('have half of all places while nobody needs them, and a window as wide as ever', () => {
    const { most } = play({ slow: 6, endpoints: 1, quiet: 0 });
    expect(most).toBeGreaterThan(250);
    expect(most).toBeLessThan(270);
    expect(play({ slow: 1, endpoints: 1, quiet: 1 }).most).toBe(64);
  });
});

describe('what is due', () => {
  test('is nothing any more when a claim found less than it asked for', () => {
    learn('a');
    claimNothing();
    expect(scheduler.plan(10)).toEqual([]);
  });

  test('is looked at again when it was called out during the claim', () => {
    learn('a');
    const [claim] = scheduler.plan(10);
    if (claim === undefined) throw new Error('no claim');
    const { wakes } = scheduler.reserve(claim);
    expect(scheduler.wake('a', 'any')).toBe(true);
    scheduler.settle(claim, 0, wakes);
    expect(countOf(scheduler.plan(10), 'a')).toBe(8);
  });

  test('is not known of an endpoint that was never looked up', () => {
    expect(scheduler.wake('a', 'any')).toBe(false);
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
    expect(scheduler.wake('a', 'any')).toBe(false);
  });
});

describe('a receiver that takes no more for now', () => {
  const refuse = (id: string, retryAfterSeconds: number | null = 60) => {
    const change = scheduler.throttled(id, { sentAt: now, retryAfterSeconds });
    scheduler.written(id);
    return change;
  };

  test('does not open the breaker, however often it says so', () => {
    learn('a');
    for (let n = 0; n < 3 * failuresToOpen; n += 1) {
      expect(claimAll(1)).toHaveLength(1);
      now += 1;
      expect(refuse('a')).toMatchObject({ failuresInRow: 0, pauseSeconds: null });
      now += 100_000;
    }
  });

  test('gets nothing until the time that it names, and then at a rate', () => {
    learn('a');
    learn('other');
    claimAll();
    for (let n = 0; n < 5; n += 1) finish('a', false);
    for (let n = 0; n < 3; n += 1) refuse('a', 5);
    expect(scheduler.wake('a', 'any')).toBe(false);
    expect(scheduler.isRateBound()).toBe(false);
    now += 4500;
    expect(countOf(claimAll(), 'a')).toBe(0);
    expect(scheduler.isRateBound()).toBe(true);
    now += 501;
    expect(countOf(claimAll(), 'a')).toBe(1);
    expect(countOf(claimAll(), 'a')).toBe(0);
    now += 1100;
    expect(countOf(claimAll(), 'a')).toBe(1);
  });

  test("gets an operator's retry at once", () => {
    learn('a');
    claimAll(1);
    refuse('a');
    learn('a', { throttledMillis: 60_000, hasProbe: true });
    expect(claimAll()).toMatchObject([{ endpointId: 'a', count: 1, onlyProbes: true }]);
    expect(finish('a', true, 'operator')).toBeNull();
    expect(claimAll()).toEqual([]);
    learn('a', { throttledMillis: 60_000, hasProbe: true });
    claimAll();
    expect(finish('a', false, 'operator')).toMatchObject({ throttleSeconds: 0 });
    expect(countOf(claimAll(), 'a')).toBeGreaterThan(0);
  });

  test('is known by the database to one that takes over, until an operator ends it', () => {
    learn('a', { throttledMillis: 60_000 });
    expect(claimAll()).toEqual([]);
    now += 1;
    learn('a', { throttledMillis: null });
    expect(countOf(claimAll(), 'a')).toBe(8);
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
    expect(finish('a', false, 'probe')).toMatchObject({ isClosed: true, failuresInRow: 0 });
    expect(countOf(claimAll(), 'a')).toBe(2);
  });

  test('pauses for twice as long when the probe fails, up to ten minutes', () => {
    learn('a');
    breakOpen('a');
    const pauses: (number | null | undefined)[] = [];
    for (let n = 0; n < 7; n += 1) {
      now += 601_000;
      claimAll();
      pauses.push(finish('a', true, 'probe')?.pauseSeconds);
    }
    expect(pauses).toEqual([60, 120, 240, 480, 600, 600, 600]);
  });

  test("lets an operator's retry pass while it is open", () => {
    learn('a');
    breakOpen('a');
    expect(scheduler.wake('a', 'any')).toBe(false);
    learn('a', {
      breaker: { failuresInRow: 20, pausesInRow: 1 },
      pausedMillis: 30_000,
      hasProbe: true,
    });
    const claim = { endpointId: 'a', lane: 1, count: 1, isFresh: false, onlyProbes: true };
    expect(scheduler.plan(10)).toEqual([claim]);
  });

  test('stays as it was when an operator retries in vain, and closes when that succeeds', () => {
    learn('a');
    breakOpen('a');
    const paused = { breaker: { failuresInRow: 20, pausesInRow: 1 }, pausedMillis: 30_000 };
    for (let n = 0; n < 5; n += 1) {
      learn('a', { ...paused, hasProbe: true });
      expect(claimAll()).toMatchObject([{ endpointId: 'a', onlyProbes: true }]);
      expect(finish('a', true, 'operator')).toBeNull();
    }
    learn('a', paused);
    now += 30_001;
    expect(claimAll()).toMatchObject([{ count: 1, onlyProbes: false }]);
    expect(finish('a', true, 'probe')).toMatchObject({ pausesInRow: 2, pauseSeconds: 60 });
    learn('a', { ...paused, hasProbe: true });
    claimAll();
    expect(finish('a', false, 'operator')).toMatchObject({ isClosed: true });
  });

  test('does not lengthen the pause for what was under way when it opened', () => {
    learn('a');
    breakOpen('a');
    expect(finish('a', true)).toMatchObject({ pauseSeconds: null });
  });

  test('does not count what this process has slept through', () => {
    learn('a');
    for (let n = 0; n < 3 * failuresToOpen; n += 1) {
      expect(claimAll(1)).toHaveLength(1);
      const slept = {
        isFailure: true,
        isOverslept: true,
        durationMillis: 30,
        role: 'usual',
      } as const;
      expect(scheduler.finish('a', slept)).toBeNull();
      scheduler.written('a');
    }
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
