import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndpointFacts } from './endpoint.ts';
import { limitsFor, Scheduler } from './scheduler.ts';
import { countOf, limits, prepareScheduler } from './testing/scheduler-world.ts';

const world = prepareScheduler();
const { learn, claimAll, claimNothing, finish } = world;

describe('new deliveries', () => {
  /** Lets an endpoint be known with nothing due. */
  const idle = (id: string, more: Partial<EndpointFacts> = {}) => {
    learn(id, more);
    claimNothing();
  };
  const planNew = (reports: Record<string, number>, isOurs = (_lane: number) => true) => {
    const plan = world.scheduler.planNew(new Map(Object.entries(reports)), isOurs);
    for (const claim of plan) {
      const { wakes } = world.scheduler.reserve(claim);
      world.scheduler.settle(claim, claim.count, wakes);
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
    world.scheduler.endpoint('behind')?.wake('any');
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
    expect(world.scheduler.inFlight).toBe(50);
    expect(planNew({ T: 1, U: 1, V: 1 })).toEqual({});
  });

  test('of a lane that another drainer has now are left to it', () => {
    idle('a', { tenant: 'T', lane: 1 });
    idle('b', { tenant: 'T', lane: 2 });
    expect(planNew({ T: 1 }, (lane) => lane === 2)).toEqual({ b: 1 });
  });

  test('of an endpoint that is forgotten are looked up again', () => {
    idle('a', { tenant: 'T' });
    world.scheduler.forget(() => false);
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
    expect(world.scheduler.inFlight).toBe(limits.perTenant + 8);
  });

  test('gives every endpoint its turn while all that may be under way is', () => {
    world.scheduler = new Scheduler({ total: 1, perTenant: 1, perEndpoint: 1 }, () => world.now);
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

  test('never exceeds a limit and gives back all it took, whatever happens', () => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      kind: fc.constantFrom('learn', 'claim', 'succeed', 'fail'),
      found: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        world.scheduler = new Scheduler(limits, () => world.now);
        const running: string[] = [];
        for (const { id, kind, found } of steps) {
          if (kind === 'learn') learn(id, { tenant: id < 'f' ? 'big' : id });
          else if (kind === 'claim') {
            for (const claim of world.scheduler.plan(50)) {
              const { wakes } = world.scheduler.reserve(claim);
              const count = Math.min(found, claim.count);
              world.scheduler.settle(claim, count, wakes);
              for (let n = 0; n < count; n += 1) running.push(claim.endpointId);
            }
          } else {
            const at = running.indexOf(id);
            if (at >= 0) {
              running.splice(at, 1);
              finish(id, kind === 'fail');
            }
          }
          expect(world.scheduler.inFlight).toBe(running.length);
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
    for (const claimed of world.scheduler.plan(limit)) {
      const kind = claimed.isFresh ? 'fresh' : 'tried';
      const { wakes } = world.scheduler.reserve(claimed);
      const found = Math.min(claimed.count, due[kind]);
      world.scheduler.settle(claimed, found, wakes);
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
    world.scheduler.endpoint('a')?.wake('fresh');
    expect(claim(due, 1).fresh + claim(due, 1).fresh).toBe(1);
  });

  test('does not make a look for others where none wait', () => {
    learn('a');
    const due = { fresh: 0, tried: 0 };
    while (world.scheduler.plan(8).length > 0) claim(due, 8);
    world.scheduler.endpoint('a')?.wake('fresh');
    expect(world.scheduler.plan(8).map(({ isFresh }) => isFresh)).toEqual([true]);
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
    world.scheduler = new Scheduler(limitsFor(512), () => world.now);
    for (let n = 0; n < slow * endpoints; n += 1) learn(`s${n}`, { tenant: `slow ${n % slow}` });
    const due = new Map<string, number[]>();
    for (let n = 0; n < quiet; n += 1) {
      learn(`q${n}`);
      due.set(`q${n}`, []);
    }
    let running: { id: string; endsAt: number; durationMillis: number }[] = [];
    const waits: number[] = [];
    let most = 0;
    const from = world.now;
    for (; world.now < from + 60_000; world.now += 10) {
      for (const { id, endsAt, durationMillis } of running) {
        if (endsAt > world.now) continue;
        world.scheduler.end(id, (endpoint) =>
          endpoint.finish({ isFailure: false, durationMillis, role: 'usual' }),
        );
        world.scheduler.endpoint(id)?.written();
      }
      running = running.filter(({ endsAt }) => endsAt > world.now);
      for (const [id, times] of due) {
        if (Math.floor(world.now / quietMillis) === Math.floor((world.now - 10) / quietMillis))
          continue;
        times.push(world.now);
        world.scheduler.endpoint(id)?.wake('fresh');
      }
      for (const claim of world.scheduler.plan(256)) {
        const { wakes } = world.scheduler.reserve(claim);
        const times = due.get(claim.endpointId);
        const waiting = claim.isFresh ? (times?.length ?? claim.count) : 0;
        const found = Math.min(claim.count, waiting);
        world.scheduler.settle(claim, found, wakes);
        for (const at of times?.splice(0, found) ?? []) waits.push(world.now - at);
        const durationMillis = times === undefined ? 12_000 : 30;
        const made = { id: claim.endpointId, endsAt: world.now + durationMillis, durationMillis };
        for (let n = 0; n < found; n += 1) running.push(made);
      }
      const held = running.filter(({ durationMillis }) => durationMillis > 30);
      most = Math.max(most, held.length);
    }
    const unsent = [...due.values()].flat().map((at) => world.now - at);
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
    expect(world.scheduler.plan(10)).toEqual([]);
  });

  test('is looked at again when it was called out during the claim', () => {
    learn('a');
    const [claim] = world.scheduler.plan(10);
    if (claim === undefined) throw new Error('no claim');
    const { wakes } = world.scheduler.reserve(claim);
    expect(world.scheduler.endpoint('a')?.wake('any')).toBe(true);
    world.scheduler.settle(claim, 0, wakes);
    expect(countOf(world.scheduler.plan(10), 'a')).toBe(8);
  });

  test('is not known of an endpoint that was never looked up', () => {
    expect(world.scheduler.endpoint('a')?.wake('any') ?? false).toBe(false);
  });

  test('is forgotten with the lane', () => {
    learn('a');
    world.scheduler.forget(() => false);
    expect(world.scheduler.plan(10)).toEqual([]);
  });

  test('is left to others with the lane, though attempts of it are under way', () => {
    learn('a');
    claimAll(4);
    world.scheduler.forget(() => false);
    finish('a', false);
    expect(world.scheduler.plan(10)).toEqual([]);
    for (let n = 0; n < 3; n += 1) finish('a', false);
    world.scheduler.forget(() => false);
    expect(world.scheduler.endpoint('a')?.wake('any') ?? false).toBe(false);
  });
});
