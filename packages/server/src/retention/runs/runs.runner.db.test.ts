import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import { clearRetention, seedDays } from '../policies/testing/seed.ts';
import { doRuns } from './runs.ts';
import { parseSchedule } from './schedule.ts';
import { createFakeMovers } from './testing/fake-movers.ts';
import { log, prune, three, untilAborted, useRunWorld } from './testing/run-world.ts';

const world = useRunWorld();
beforeEach(() => clearRetention(world.db));
afterEach(() => world.stopRunners());

describe('runners', () => {
  test('divide the tenants of a run: each is done once, several at the same time', async () => {
    await seedDays(
      world.db,
      Array.from({ length: 40 }, (_, n) => ({ tenant: `T${n}`, age: 9, count: 1 })),
    );
    const ids = ['run_1', 'run_2', 'run_3'];
    for (const id of ids) await world.queue(id);
    const second = hold();
    let begun = 0;
    // The first tenant waits for another to be begun, so a run that is done alone never ends.
    const movers = createFakeMovers(world.db, () => {
      begun += 1;
      if (begun === 2) second.resolve();
      return second.promise;
    });
    const runners = [
      world.start(movers),
      world.start(movers, world.otherDb),
      world.start(movers),
      world.start(movers, world.otherDb),
    ];
    await expect
      .poll(
        async () => {
          for (const runner of runners) runner.poke();
          return (await Promise.all(ids.map(world.readRun))).map((run) => run?.state);
        },
        { timeout: 120_000, interval: 20 },
      )
      .toEqual(['completed', 'completed', 'completed']);
    expect(movers.mostAtOnce()).toBeGreaterThan(1);
    expect(new Set(movers.calls).size).toBe(40);
    expect(movers.calls).toHaveLength(40);
    expect(await world.readRun('run_1')).toMatchObject({ total_count: 40, moved_count: 40 });
    expect(await world.db.query(sql`select job from work_shares`)).toEqual([]);
  });

  test('leave the end of a run to whoever ends its last tenant', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const last = hold();
    const slow = createFakeMovers(world.db, ({ tenant }) =>
      tenant === 'T1' ? last.promise : undefined,
    );
    const prunes: string[] = [];
    const at = (on: Database, name: string) =>
      doRuns(on, {
        ...slow,
        prune: async () => {
          prunes.push(name);
        },
        log,
        signal: new AbortController().signal,
      });
    const first = at(world.db, 'first');
    await expect.poll(() => slow.calls.length, { timeout: 120_000 }).toBe(1);
    await at(world.otherDb, 'second');
    expect(slow.calls.map((call) => call.slice(0, 7))).toEqual(['move T1', 'move T2', 'move T3']);
    expect(await world.readRun()).toMatchObject({ state: 'running', moved_count: 50 });
    last.resolve();
    await first;
    expect(await world.readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
    expect(prunes).toEqual(['first']);
  });

  test('do no run while a process of the release before does it alone', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const old = await world.otherDb.openSession();
    await old.query(sql`select pg_advisory_lock(${advisoryLocks.retentionRuns})`);
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    expect(movers.calls).toEqual([]);
    expect(await world.readRun()).toMatchObject({ state: 'queued' });
    await old.query(sql`select pg_advisory_unlock_all()`);
    await old.close();
    await world.work(movers);
    expect(await world.readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
  });

  test('one that is stopped half-way leaves the run to another, which does only the rest', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const stuck = createFakeMovers(world.db, ({ tenant, signal }) =>
      tenant === 'T2' ? untilAborted(signal) : undefined,
    );
    const first = world.start(stuck);
    first.poke();
    await expect.poll(() => stuck.calls.length, { timeout: 120_000 }).toBe(2);
    expect(await world.readRun()).toMatchObject({
      state: 'running',
      moved_count: 10,
      total_count: 60,
    });
    await first.stop();
    expect(await world.readRun()).toMatchObject({ state: 'running', moved_count: 10 });

    const movers = createFakeMovers(world.otherDb);
    await doRuns(world.otherDb, { ...movers, prune, log, signal: new AbortController().signal });
    expect(movers.calls.map((call) => call.slice(0, 7))).toEqual(['move T2', 'move T3']);
    expect(await world.readRun()).toMatchObject({
      state: 'completed',
      moved_count: 60,
      total_count: 60,
    });
  });

  test('one that loses its session gives up the run, and it is taken up again', async () => {
    await seedDays(world.db, three);
    await world.queue();
    let isFirst = true;
    const movers = createFakeMovers(world.db, async ({ tenant, signal }) => {
      if (tenant !== 'T2' || !isFirst) return;
      isFirst = false;
      await world.db.query(sql`
        select pg_terminate_backend(pid) from pg_locks where ${isHeldLock('retentionRuns')}`);
      await untilAborted(signal);
    });
    const runner = world.start(movers);
    runner.poke();
    await expect
      .poll(
        async () => {
          runner.poke();
          return (await world.readRun())?.state;
        },
        { timeout: 120_000 },
      )
      .toBe('completed');
    expect(movers.calls.map((call) => call.slice(0, 7))).toEqual([
      'move T1',
      'move T2',
      'move T2',
      'move T3',
    ]);
    expect(await world.readRun()).toMatchObject({ moved_count: 60 });
  });

  test('counts of failed and busy tenants begin anew when a run is taken up again', async () => {
    await seedDays(world.db, three);
    await world.queue();
    await world.db.query(sql`
      update retention_runs set state = 'running', failed_moves = 3, busy_tenants = 2, moved_count = 5,
        total_count = 65`);
    await world.work(createFakeMovers(world.db));
    expect(await world.readRun()).toMatchObject({
      failed_moves: 0,
      busy_tenants: 0,
      moved_count: 65,
      total_count: 65,
    });
  });

  test('look for runs and for objects to remove by themselves', async () => {
    await seedDays(world.db, three);
    await world.queue();
    let removals = 0;
    world.start(createFakeMovers(world.db), world.db, {
      removeObjects: async () => {
        removals += 1;
        throw new Error('told, and tried again');
      },
      schedule: parseSchedule('0 0 1 1 *'),
      clock: () => Date.parse('2026-03-05T00:00:00Z'),
    });
    await expect
      .poll(async () => (await world.readRun())?.state, { timeout: 120_000 })
      .toBe('completed');
    await expect.poll(() => removals, { timeout: 120_000 }).toBeGreaterThan(0);
  });
});
