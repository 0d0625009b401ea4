import { pino } from 'pino';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { hold } from '../../../test/held-pace.ts';
import { AppError } from '../../kernel/errors.ts';
import { storeUnavailable } from '../../platform/objects/objects.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import type { Repeated } from '../../platform/work/repeat.ts';
import {
  clearRetention,
  dayOfAge,
  seedDays,
  seedPolicy,
  seedVersion,
} from '../policies/testing/seed.ts';
import { readRetentionOverview } from '../read-overview.ts';
import type { Movers, RunContext, TenantJob } from './do-run.ts';
import { findRun, insertRun, type StoredRun } from './queries.ts';
import { createScheduler, doRuns, parseSchedule, startRunner } from './runner.ts';
import { createFakeMovers } from './testing/fake-movers.ts';

const log = pino({ level: 'silent' });
const prune = async () => {};
let db: TestDatabase;
/** As another process would have it. */
let otherDb: Database;
let cleanUps: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  db = await createTestDatabase();
  otherDb = openDatabase({ url: db.url, maxConnections: 4, onError: () => {} });
});
afterAll(async () => {
  await otherDb.close();
  await db.drop();
});
beforeEach(() => clearRetention(db));
afterEach(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
  cleanUps = [];
});

const queue = (id = 'run_1', scope: Partial<StoredRun> & { deleteVersioned?: boolean } = {}) =>
  insertRun(db, {
    id,
    tenant: null,
    tenants: null,
    before: null,
    deleteVersioned: false,
    requestedBy: 'test',
    ...scope,
  });
const readRun = async (id = 'run_1') => {
  const rows = await db.query<StoredRun>(sql`
    select state, total_count, moved_count, moved_bytes, deleted_count, failed_moves, busy_tenants,
      freed_bytes, error, finished_at is not null as has_finished
    from retention_runs where id = ${id}`);
  return rows[0];
};
const work = (movers: Movers & Pick<RunContext, 'sleep'>, signal = new AbortController().signal) =>
  doRuns(db, { ...movers, prune, log, signal });
function start(movers: Movers, on: Database = db): Repeated {
  const runner = startRunner(on, {
    ...movers,
    removeObjects: async () => {},
    prune,
    schedule: null,
    clock: Date.now,
    log,
  });
  cleanUps.push(() => runner.stop());
  return runner;
}
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
const three = [
  { tenant: 'T1', age: 9, count: 10 },
  { tenant: 'T2', age: 9, count: 20 },
  { tenant: 'T3', age: 9, count: 30 },
];

describe('a run', () => {
  test('is not looked for on a connection of its own while none waits', async () => {
    const sealed: Database = { ...db, openSession: () => Promise.reject(new Error('opened')) };
    await doRuns(sealed, {
      ...createFakeMovers(db),
      prune,
      log,
      signal: new AbortController().signal,
    });
  });

  test('moves what is due, tenant by tenant, and tells how far it is', async () => {
    await seedDays(db, [...three, { tenant: 'T3', age: 3, count: 7 }]);
    await queue();
    const movers = createFakeMovers(db);
    await work(movers);
    const day = await dayOfAge(db, 4);
    expect(movers.calls).toEqual([`move T1 ${day}`, `move T2 ${day}`, `move T3 ${day}`]);
    expect(await readRun()).toEqual({
      state: 'completed',
      total_count: 60,
      moved_count: 60,
      moved_bytes: 6000,
      deleted_count: 0,
      failed_moves: 0,
      busy_tenants: 0,
      freed_bytes: 0,
      error: null,
      has_finished: true,
    });
  });

  test.each([false, true])('tells what versions keep, told to delete it: %s', async (told) => {
    await seedPolicy(db, { tenant: '*', hotDays: 30, deleteDays: 5 });
    await seedDays(db, three);
    await seedVersion(db, { tenant: 'T2', name: 'v1', firstAge: 9, lastAge: 9 });
    await queue('run_1', { deleteVersioned: told });
    const jobs: string[] = [];
    const fake = createFakeMovers(db);
    await work({
      ...fake,
      deleteTenant(job) {
        jobs.push(`${job.tenant} ${job.deleteVersioned}`);
        return fake.deleteTenant(job);
      },
    });
    expect(jobs).toEqual(told ? ['T1 true', 'T2 true', 'T3 true'] : ['T1 false', 'T3 false']);
    const counts = told
      ? { total_count: 60, kept_count: 0, deleted_count: 60 }
      : { total_count: 40, kept_count: 20, deleted_count: 40 };
    const rows = await db.query(
      sql`select state, total_count, kept_count, deleted_count from retention_runs`,
    );
    expect(rows).toEqual([{ state: 'completed', ...counts }]);
  });

  test('deletes before it moves, and moves nothing that goes', async () => {
    await seedDays(db, [
      { tenant: 'T1', age: 20, count: 5, cold: 5 },
      { tenant: 'T1', age: 15, count: 6 },
      { tenant: 'T1', age: 8, count: 7 },
    ]);
    await seedPolicy(db, { tenant: 'T1', hotDays: 3, deleteDays: 10 });
    await queue();
    const movers = createFakeMovers(db);
    await work(movers);
    expect(movers.calls).toEqual([
      `delete T1 ${await dayOfAge(db, 11)}`,
      `move T1 ${await dayOfAge(db, 4)}`,
    ]);
    expect(await readRun()).toMatchObject({ total_count: 18, deleted_count: 11, moved_count: 7 });
  });

  test('keeps to its tenant, its author’s tenants and its date', async () => {
    await seedDays(db, [...three, { tenant: 'T2', age: 6, count: 1 }]);
    await queue('run_1', { tenants: ['T2', 'T9'], before: await dayOfAge(db, 6) });
    await queue('run_2', { tenant: 'T3' });
    const movers = createFakeMovers(db);
    await work(movers);
    expect(movers.calls).toEqual([
      `move T2 ${await dayOfAge(db, 7)}`,
      `move T3 ${await dayOfAge(db, 4)}`,
    ]);
    expect(await readRun('run_1')).toMatchObject({ total_count: 20, moved_count: 20 });
  });

  test('obeys policies and holds that change while it is under way', async () => {
    await seedDays(db, three);
    await queue();
    const movers = createFakeMovers(db, async ({ tenant }) => {
      if (tenant !== 'T1') return;
      await seedPolicy(db, { tenant: 'T2', hotDays: 3, hold: true });
      await seedPolicy(db, { tenant: 'T3', hotDays: 8 });
    });
    await work(movers);
    expect(movers.calls).toEqual([
      `move T1 ${await dayOfAge(db, 4)}`,
      `move T3 ${await dayOfAge(db, 9)}`,
    ]);
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 40 });
  });

  test('passes over tenants that another mover has, and counts moves that failed', async () => {
    await seedDays(db, three);
    await seedPolicy(db, { tenant: 'T2', hotDays: 3, deleteDays: 5 });
    await queue();
    const fake = createFakeMovers(db);
    const outcome = (job: TenantJob) => ({
      movedCount: 0,
      movedBytes: 0,
      failedMoves: job.tenant === 'T1' ? 2 : 0,
      isBusy: job.tenant === 'T3',
    });
    await work({
      moveTenant: async (job) => {
        await fake.moveTenant(job);
        return outcome(job);
      },
      deleteTenant: async () => ({ deletedCount: 0, failedMoves: 0, isBusy: true }),
      giveBackSpace: (signal) => fake.giveBackSpace(signal),
    });
    expect(fake.calls.map((call) => call.slice(0, 7))).toEqual(['move T1', 'move T3']);
    expect(await readRun()).toMatchObject({
      state: 'completed',
      failed_moves: 2,
      busy_tenants: 2,
      error: null,
    });
  });

  test('fails with the first tenant that threw, after all others had their turn', async () => {
    await seedDays(db, three);
    await queue();
    const movers = createFakeMovers(db, ({ tenant }) => {
      if (tenant === 'T1') throw new AppError('segment_damaged', { detail: 'The object is torn.' });
      if (tenant === 'T2') throw new Error('private');
    });
    await work(movers);
    expect(movers.calls).toHaveLength(3);
    expect(await readRun()).toMatchObject({
      state: 'failed',
      error: '"T1": The object is torn.',
      moved_count: 30,
      has_finished: true,
    });
  });

  test.each([false, true])('gives space back in the end, after a failure: %s', async (fails) => {
    await seedDays(db, three);
    await queue();
    const fake = createFakeMovers(db, () => {
      if (fails) throw new Error('private');
    });
    const giveBackSpace = async () => 1000 * fake.calls.length;
    await work({ ...fake, giveBackSpace });
    expect(await readRun()).toMatchObject({
      state: fails ? 'failed' : 'completed',
      freed_bytes: 3000,
    });
  });

  test('does not fail because space cannot be given back', async () => {
    await seedDays(db, three);
    await queue();
    const giveBackSpace = () => Promise.reject(new Error('no space'));
    await work({ ...createFakeMovers(db), giveBackSpace });
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 60, freed_bytes: 0 });
  });

  test('ends at once when the objects cannot be reached', async () => {
    await seedDays(db, three);
    await queue();
    const movers = createFakeMovers(db, () => {
      throw new AppError('cold_tier_unavailable', { detail: 'The store does not answer.' });
    });
    await work(movers);
    expect(movers.calls).toHaveLength(1);
    expect(await readRun()).toMatchObject({ state: 'failed', error: 'The store does not answer.' });
  });

  test('waits for its store, says why and since when, and goes on', async () => {
    await seedDays(db, three);
    await queue();
    let isAway = true;
    const movers = createFakeMovers(db, ({ tenant, wait }) =>
      wait.run(async () => {
        if (isAway && tenant === 'T2')
          throw storeUnavailable('No object', 'the store says SlowDown');
      }),
    );
    const seen: unknown[] = [];
    await work({
      ...movers,
      sleep: async () => {
        seen.push(
          await findRun(db, 'run_1', null),
          (await readRetentionOverview(db, null)).work[0],
        );
        isAway = false;
      },
    });
    expect(seen).toMatchObject([
      { state: 'waiting', waiting_since: expect.any(String), error: null, moved_count: 10 },
      { kind: 'run', state: 'waiting', done: 10 },
    ]);
    expect(seen[0]).toMatchObject({ waiting_for: expect.stringContaining('SlowDown') });
    expect(await findRun(db, 'run_1', null)).toMatchObject({
      ...{ state: 'completed', moved_count: 60, waiting_since: null, waiting_for: null },
    });
  });

  test('waits for a database that does not answer', async () => {
    await seedDays(db, three);
    await queue();
    let isDown = true;
    const movers = createFakeMovers(db, ({ tenant }) => {
      if (isDown && tenant === 'T2') throw new AppError('database_unavailable');
    });
    await expect(work(movers)).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(await readRun()).toMatchObject({ state: 'running', moved_count: 10 });
    isDown = false;
    await work(movers);
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
  });

  test('comes by more tenants than are read at once', async () => {
    await seedDays(
      db,
      Array.from({ length: 205 }, (_, n) => ({ tenant: `T${n}`, age: 9, count: 1 })),
    );
    await queue();
    const movers = createFakeMovers(db);
    await work(movers);
    expect(new Set(movers.calls).size).toBe(205);
    expect(await readRun()).toMatchObject({ total_count: 205, moved_count: 205 });
  });
});

describe('runners', () => {
  test('divide the tenants of a run: each is done once, several at the same time', async () => {
    await seedDays(
      db,
      Array.from({ length: 40 }, (_, n) => ({ tenant: `T${n}`, age: 9, count: 1 })),
    );
    const ids = ['run_1', 'run_2', 'run_3'];
    for (const id of ids) await queue(id);
    const second = hold();
    let begun = 0;
    // The first tenant waits for another to be begun, so a run that is done alone never ends.
    const movers = createFakeMovers(db, () => {
      begun += 1;
      if (begun === 2) second.resolve();
      return second.promise;
    });
    const runners = [start(movers), start(movers, otherDb), start(movers), start(movers, otherDb)];
    await expect
      .poll(
        async () => {
          for (const runner of runners) runner.poke();
          return (await Promise.all(ids.map(readRun))).map((run) => run?.state);
        },
        { timeout: 120_000, interval: 20 },
      )
      .toEqual(['completed', 'completed', 'completed']);
    expect(movers.mostAtOnce()).toBeGreaterThan(1);
    expect(new Set(movers.calls).size).toBe(40);
    expect(movers.calls).toHaveLength(40);
    expect(await readRun('run_1')).toMatchObject({ total_count: 40, moved_count: 40 });
    expect(await db.query(sql`select job from work_shares`)).toEqual([]);
  });

  test('leave the end of a run to whoever ends its last tenant', async () => {
    await seedDays(db, three);
    await queue();
    const last = hold();
    const slow = createFakeMovers(db, ({ tenant }) => (tenant === 'T1' ? last.promise : undefined));
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
    const first = at(db, 'first');
    await expect.poll(() => slow.calls.length, { timeout: 120_000 }).toBe(1);
    await at(otherDb, 'second');
    expect(slow.calls.map((call) => call.slice(0, 7))).toEqual(['move T1', 'move T2', 'move T3']);
    expect(await readRun()).toMatchObject({ state: 'running', moved_count: 50 });
    last.resolve();
    await first;
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
    expect(prunes).toEqual(['first']);
  });

  test('do no run while a process of the release before does it alone', async () => {
    await seedDays(db, three);
    await queue();
    const old = await otherDb.openSession();
    await old.query(sql`select pg_advisory_lock(${advisoryLocks.retentionRuns})`);
    const movers = createFakeMovers(db);
    await work(movers);
    expect(movers.calls).toEqual([]);
    expect(await readRun()).toMatchObject({ state: 'queued' });
    await old.query(sql`select pg_advisory_unlock_all()`);
    await old.close();
    await work(movers);
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
  });

  test('one that is stopped half-way leaves the run to another, which does only the rest', async () => {
    await seedDays(db, three);
    await queue();
    const stuck = createFakeMovers(db, ({ tenant, signal }) =>
      tenant === 'T2' ? untilAborted(signal) : undefined,
    );
    const first = start(stuck);
    first.poke();
    await expect.poll(() => stuck.calls.length, { timeout: 120_000 }).toBe(2);
    expect(await readRun()).toMatchObject({ state: 'running', moved_count: 10, total_count: 60 });
    await first.stop();
    expect(await readRun()).toMatchObject({ state: 'running', moved_count: 10 });

    const movers = createFakeMovers(otherDb);
    await doRuns(otherDb, { ...movers, prune, log, signal: new AbortController().signal });
    expect(movers.calls.map((call) => call.slice(0, 7))).toEqual(['move T2', 'move T3']);
    expect(await readRun()).toMatchObject({ state: 'completed', moved_count: 60, total_count: 60 });
  });

  test('one that loses its session gives up the run, and it is taken up again', async () => {
    await seedDays(db, three);
    await queue();
    let isFirst = true;
    const movers = createFakeMovers(db, async ({ tenant, signal }) => {
      if (tenant !== 'T2' || !isFirst) return;
      isFirst = false;
      await db.query(sql`
        select pg_terminate_backend(pid) from pg_locks where ${isHeldLock('retentionRuns')}`);
      await untilAborted(signal);
    });
    const runner = start(movers);
    runner.poke();
    await expect
      .poll(
        async () => {
          runner.poke();
          return (await readRun())?.state;
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
    expect(await readRun()).toMatchObject({ moved_count: 60 });
  });

  test('counts of failed and busy tenants begin anew when a run is taken up again', async () => {
    await seedDays(db, three);
    await queue();
    await db.query(sql`
      update retention_runs set state = 'running', failed_moves = 3, busy_tenants = 2, moved_count = 5,
        total_count = 65`);
    await work(createFakeMovers(db));
    expect(await readRun()).toMatchObject({
      failed_moves: 0,
      busy_tenants: 0,
      moved_count: 65,
      total_count: 65,
    });
  });

  test('look for runs and for objects to remove by themselves', async () => {
    await seedDays(db, three);
    await queue();
    let removals = 0;
    const runner = startRunner(db, {
      ...createFakeMovers(db),
      removeObjects: async () => {
        removals += 1;
        throw new Error('told, and tried again');
      },
      prune,
      schedule: parseSchedule('0 0 1 1 *'),
      clock: () => Date.parse('2026-03-05T00:00:00Z'),
      log,
    });
    cleanUps.push(() => runner.stop());
    await expect.poll(async () => (await readRun())?.state, { timeout: 120_000 }).toBe('completed');
    await expect.poll(() => removals, { timeout: 120_000 }).toBeGreaterThan(0);
  });
});

describe('the schedule', () => {
  const schedule = parseSchedule('17 3 * * *');
  if (schedule === null) throw new Error('no schedule');
  let now = 0;
  const clock = () => now;
  const at = (text: string) => {
    now = Date.parse(text);
  };
  const scheduled = async () =>
    (
      await db.query<{ at: string }>(sql`
        select to_char(scheduled_for, 'DD HH24:MI') as at from retention_runs order by scheduled_for`)
    ).map((row) => row.at);

  test('queues one run a minute it falls on, however many processes ask', async () => {
    at('2026-03-05T03:16:50Z');
    const processes = [db, otherDb, db].map((each) => createScheduler(each, schedule, { clock }));
    expect(await Promise.all(processes.map((ask) => ask()))).toEqual([false, false, false]);
    at('2026-03-05T03:17:00Z');
    const made = await Promise.all(processes.map((ask) => ask()));
    expect(made.filter(Boolean)).toEqual([true]);
    at('2026-03-05T03:17:02Z');
    expect(await Promise.all(processes.map((ask) => ask()))).toEqual([false, false, false]);
    expect(await scheduled()).toEqual(['05 03:17']);
    expect(await db.query(sql`select requested_by, tenant, tenants from retention_runs`)).toEqual([
      { requested_by: null, tenant: null, tenants: null },
    ]);
  });

  test('makes no second run of a minute when the clock is set back', async () => {
    at('2026-03-05T03:16:59Z');
    const ask = createScheduler(db, schedule, { clock });
    at('2026-03-05T03:17:01Z');
    expect(await ask()).toBe(true);
    at('2026-03-05T02:00:00Z');
    expect(await ask()).toBe(false);
    at('2026-03-05T03:17:30Z');
    expect(await ask()).toBe(false);
    at('2026-03-06T03:17:30Z');
    expect(await ask()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17', '06 03:17']);
  });

  test('makes up for one run after a long sleep, and for none from before the start', async () => {
    at('2026-03-05T03:18:00Z');
    const ask = createScheduler(db, schedule, { clock });
    expect(await ask()).toBe(false);
    at('2026-03-09T12:00:00Z');
    expect([await ask(), await ask()]).toEqual([true, false]);
    expect(await scheduled()).toHaveLength(1);
  });

  test('makes up once for the minute that fell into a restart, and queues what else is due', async () => {
    let verifications = 0;
    const start = () =>
      createScheduler(db, schedule, {
        clock,
        onScheduled: async () => {
          verifications += 1;
        },
      });
    at('2026-03-05T03:16:00Z');
    const ask = start();
    await ask();
    at('2026-03-05T03:17:00Z');
    expect(await ask()).toBe(true);
    at('2026-03-06T03:20:00Z');
    const restarted = start();
    expect([await restarted(), await restarted(), await start()()]).toEqual([true, false, false]);
    expect(await scheduled()).toEqual(['05 03:17', '06 03:17']);
    expect(verifications).toBe(2);
  });

  test('makes up for the first run of all, if the database is older', async () => {
    await db.query(sql`update schema_migrations set applied_at = '2026-03-01'`);
    at('2026-03-05T03:20:00Z');
    expect(await createScheduler(db, schedule, { clock })()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17']);
    await db.query(sql`update schema_migrations set applied_at = now()`);
  });

  test('makes up for the last of many minutes, and for none older than a day', async () => {
    const weekly = parseSchedule('17 3 * * SUN');
    const often = parseSchedule('*/20 * * * *');
    if (weekly === null || often === null) throw new Error('no schedule');
    at('2026-03-01T03:16:00Z');
    const ask = createScheduler(db, weekly, { clock });
    await ask();
    at('2026-03-01T03:17:00Z');
    await ask();
    at('2026-03-09T03:18:00Z');
    expect(await createScheduler(db, weekly, { clock })()).toBe(false);
    const restarts = [1, 2].map(() => createScheduler(db, often, { clock }));
    expect(await restarts[0]?.()).toBe(true);
    expect(await restarts[1]?.()).toBe(false);
    expect(await scheduled()).toEqual(['01 03:17', '09 03:00']);
  });

  test('tries a run again that could not be queued', async () => {
    at('2026-03-05T03:16:59Z');
    let isDown = true;
    const flaky: Database = {
      ...db,
      transaction: (work) =>
        isDown ? Promise.reject(new AppError('database_unavailable')) : db.transaction(work),
    };
    const ask = createScheduler(flaky, schedule, { clock });
    at('2026-03-05T03:17:00Z');
    await expect(ask()).rejects.toThrow('database_unavailable');
    isDown = false;
    at('2026-03-05T03:19:00Z');
    expect(await ask()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17']);
  });
});
