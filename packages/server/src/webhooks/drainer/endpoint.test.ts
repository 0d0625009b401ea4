import { describe, expect, test } from 'vitest';
import { failuresToOpen } from './pace.ts';
import { countOf, facts, limits, prepareScheduler } from './testing/scheduler-world.ts';

// An endpoint is tested as the scheduler has it, which counts what is in flight.
const world = prepareScheduler();
const { learn, claimAll, finish, release, breakOpen } = world;

describe('the window and the rate', () => {
  test('widens the window with each success and halves it with each failure', () => {
    learn('a');
    claimAll();
    for (let n = 0; n < 8; n += 1) finish('a', false);
    learn('a');
    expect(countOf(claimAll(), 'a')).toBe(limits.perEndpoint);
    finish('a', true);
    for (let n = 0; n < 15; n += 1) release('a');
    learn('a');
    expect(countOf(claimAll(), 'a')).toBe(limits.perEndpoint / 2);
  });

  test('keeps to a rate', () => {
    learn('a', { ratePerSecond: 3 });
    expect(countOf(claimAll(), 'a')).toBe(3);
    expect(claimAll()).toEqual([]);
    expect(world.scheduler.isRateBound()).toBe(true);
    world.now += 5000;
    expect(claimAll()).toEqual([]);
    for (let n = 0; n < 3; n += 1) world.scheduler.endpoint('a')?.sent(false);
    world.now += 1000;
    expect(claimAll()).toEqual([]);
    world.now += 20;
    expect(countOf(claimAll(), 'a')).toBe(3);
    release('a');
    expect(countOf(claimAll(), 'a')).toBe(1);
    world.scheduler.endpoint('a')?.sent(false);
    // Its connection was closed: it goes out twice, and counts so.
    world.scheduler.endpoint('a')?.sent(true);
    learn('a', { ratePerSecond: 5 });
    expect(countOf(claimAll(), 'a')).toBe(1);
  });
});

describe('a receiver that takes no more for now', () => {
  const refuse = (id: string, retryAfterSeconds: number | null = 60) => {
    const change = world.scheduler.end(id, (endpoint) =>
      endpoint.throttled({ sentAt: world.now, retryAfterSeconds }),
    );
    world.scheduler.endpoint(id)?.written();
    return change;
  };

  test('does not open the breaker, however often it says so', () => {
    learn('a');
    for (let n = 0; n < 3 * failuresToOpen; n += 1) {
      expect(claimAll(1)).toHaveLength(1);
      world.now += 1;
      expect(refuse('a')).toMatchObject({ failuresInRow: 0, pauseSeconds: null });
      world.now += 100_000;
    }
  });

  test('gets nothing until the time that it names, and then at a rate', () => {
    learn('a');
    learn('other');
    claimAll();
    for (let n = 0; n < 5; n += 1) finish('a', false);
    for (let n = 0; n < 3; n += 1) refuse('a', 5);
    expect(world.scheduler.endpoint('a')?.wake('any') ?? false).toBe(false);
    expect(world.scheduler.isRateBound()).toBe(false);
    world.now += 4500;
    expect(countOf(claimAll(), 'a')).toBe(0);
    expect(world.scheduler.isRateBound()).toBe(true);
    world.now += 501;
    expect(countOf(claimAll(), 'a')).toBe(1);
    expect(countOf(claimAll(), 'a')).toBe(0);
    world.now += 1100;
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
    world.now += 1;
    learn('a', { throttledMillis: null });
    expect(countOf(claimAll(), 'a')).toBe(8);
  });
});

describe('the breaker', () => {
  test('opens after 20 failures in a row and claims nothing while it is open', () => {
    learn('a');
    breakOpen('a');
    expect(claimAll()).toEqual([]);
    world.now += 29_000;
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
    world.now += 31_000;
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
      world.now += 601_000;
      claimAll();
      pauses.push(finish('a', true, 'probe')?.pauseSeconds);
    }
    expect(pauses).toEqual([60, 120, 240, 480, 600, 600, 600]);
  });

  test('is known by the database to one that takes over, with the pauses before', () => {
    learn('a', { failuresInRow: 60, pausesInRow: 3, pausedMillis: -1 });
    expect(countOf(claimAll(), 'a')).toBe(1);
    const told = { failuresInRow: 61, pausesInRow: 4, pauseSeconds: 240 };
    expect(finish('a', true, 'probe')).toMatchObject(told);
  });

  test("lets an operator's retry pass while it is open", () => {
    learn('a');
    breakOpen('a');
    expect(world.scheduler.endpoint('a')?.wake('any') ?? false).toBe(false);
    learn('a', { failuresInRow: 20, pausesInRow: 1, pausedMillis: 30_000, hasProbe: true });
    const claim = { endpointId: 'a', lane: 1, count: 1, isFresh: false, onlyProbes: true };
    expect(world.scheduler.plan(10)).toEqual([claim]);
  });

  test('stays as it was when an operator retries in vain, and closes when that succeeds', () => {
    learn('a');
    breakOpen('a');
    const paused = { failuresInRow: 20, pausesInRow: 1, pausedMillis: 30_000 };
    for (let n = 0; n < 5; n += 1) {
      learn('a', { ...paused, hasProbe: true });
      expect(claimAll()).toMatchObject([{ endpointId: 'a', onlyProbes: true }]);
      expect(finish('a', true, 'operator')).toBeNull();
    }
    learn('a', paused);
    world.now += 30_001;
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
      const slept = { isFailure: true, isOurs: true, durationMillis: 30, role: 'usual' } as const;
      expect(world.scheduler.end('a', (endpoint) => endpoint.finish(slept))).toBeNull();
      world.scheduler.endpoint('a')?.written();
    }
  });

  test('is taken over from the database only while nothing is newer here', () => {
    learn('a');
    const askedAt = world.now;
    world.now += 1;
    claimAll(1);
    finish('a', false);
    world.scheduler.learn(
      facts('a', { failuresInRow: 20, pausesInRow: 1, pausedMillis: 9000 }),
      askedAt,
    );
    expect(countOf(claimAll(), 'a')).toBeGreaterThan(0);
  });
});
