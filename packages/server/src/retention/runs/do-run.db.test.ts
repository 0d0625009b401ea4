import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { findJob } from '../../platform/jobs/queries.ts';
import { storeUnavailable } from '../../platform/objects/objects.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { readRetentionOverview } from '../figures.ts';
import {
  clearRetention,
  dayOfAge,
  seedDays,
  seedPolicy,
  seedVersion,
} from '../policies/testing/seed.ts';
import type { TenantJob } from './do-run.ts';
import { runs } from './queries.ts';
import { doRuns } from './runs.ts';
import { createFakeMovers, nothingDone } from './testing/fake-movers.ts';
import { log, prune, three, useRunWorld } from './testing/run-world.ts';

const world = useRunWorld();
beforeEach(() => clearRetention(world.db));

describe('a run', () => {
  test('is not looked for on a connection of its own while none waits', async () => {
    const sealed: Database = {
      ...world.db,
      openSession: () => Promise.reject(new Error('opened')),
    };
    await doRuns(sealed, {
      ...createFakeMovers(world.db),
      prune,
      log,
      signal: new AbortController().signal,
    });
  });

  test('moves what is due, tenant by tenant, and tells how far it is', async () => {
    await seedDays(world.db, [...three, { tenant: 'T3', age: 3, count: 7 }]);
    await world.queue();
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    const day = await dayOfAge(world.db, 4);
    expect(movers.calls).toEqual([`move T1 ${day}`, `move T2 ${day}`, `move T3 ${day}`]);
    expect(await world.readRun()).toEqual({
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
    await seedPolicy(world.db, { tenant: '*', hotDays: 30, deleteDays: 5 });
    await seedDays(world.db, three);
    await seedVersion(world.db, { tenant: 'T2', name: 'v1', firstAge: 9, lastAge: 9 });
    await world.queue('run_1', { deleteVersioned: told });
    const jobs: string[] = [];
    const fake = createFakeMovers(world.db);
    await world.work({
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
    const rows = await world.db.query(
      sql`select state, total_count, kept_count, deleted_count from retention_runs`,
    );
    expect(rows).toEqual([{ state: 'completed', ...counts }]);
  });

  test('ends a deletion that was left open, also when the policy deletes nothing any more', async () => {
    await seedPolicy(world.db, { tenant: 'T1', hotDays: 3 });
    await seedDays(world.db, [{ tenant: 'T1', age: 20, count: 5, cold: 5 }]);
    await world.db.query(sql`
      insert into moves (tenant, id, kind, state, first_day, last_day, runner)
      values ('T1', 'mov_1', 'delete', 'planned', '2001-03-01', '2001-03-01', 'killed')`);
    await world.queue();
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    expect(movers.calls).toEqual([`move T1 ${await dayOfAge(world.db, 4)}`]);
  });

  test('deletes before it moves, and moves nothing that goes', async () => {
    await seedDays(world.db, [
      { tenant: 'T1', age: 20, count: 5, cold: 5 },
      { tenant: 'T1', age: 15, count: 6 },
      { tenant: 'T1', age: 8, count: 7 },
    ]);
    await seedPolicy(world.db, { tenant: 'T1', hotDays: 3, deleteDays: 10 });
    await world.queue();
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    expect(movers.calls).toEqual([
      `delete T1 ${await dayOfAge(world.db, 11)}`,
      `move T1 ${await dayOfAge(world.db, 4)}`,
    ]);
    expect(await world.readRun()).toMatchObject({
      total_count: 18,
      deleted_count: 11,
      moved_count: 7,
    });
  });

  test('keeps to its tenant, its author’s tenants and its date', async () => {
    await seedDays(world.db, [...three, { tenant: 'T2', age: 6, count: 1 }]);
    await world.queue('run_1', { tenants: ['T2', 'T9'], before: await dayOfAge(world.db, 6) });
    await world.queue('run_2', { tenant: 'T3' });
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    expect(movers.calls).toEqual([
      `move T2 ${await dayOfAge(world.db, 7)}`,
      `move T3 ${await dayOfAge(world.db, 4)}`,
    ]);
    expect(await world.readRun('run_1')).toMatchObject({ total_count: 20, moved_count: 20 });
  });

  test('obeys policies and holds that change while it is under way', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const movers = createFakeMovers(world.db, async ({ tenant }) => {
      if (tenant !== 'T1') return;
      await seedPolicy(world.db, { tenant: 'T2', hotDays: 3, hold: true });
      await seedPolicy(world.db, { tenant: 'T3', hotDays: 8 });
    });
    await world.work(movers);
    expect(movers.calls).toEqual([
      `move T1 ${await dayOfAge(world.db, 4)}`,
      `move T3 ${await dayOfAge(world.db, 9)}`,
    ]);
    expect(await world.readRun()).toMatchObject({ state: 'completed', moved_count: 40 });
  });

  test('passes over tenants that another mover has, and counts moves that failed', async () => {
    await seedDays(world.db, three);
    await seedPolicy(world.db, { tenant: 'T2', hotDays: 3, deleteDays: 5 });
    await world.queue();
    const fake = createFakeMovers(world.db);
    const outcome = (job: TenantJob) => ({
      ...nothingDone,
      failedMoves: job.tenant === 'T1' ? 2 : 0,
      isBusy: job.tenant === 'T3',
    });
    await world.work({
      moveTenant: async (job) => {
        await fake.moveTenant(job);
        return outcome(job);
      },
      deleteTenant: async () => ({ ...nothingDone, isBusy: true }),
      giveBackSpace: (signal) => fake.giveBackSpace(signal),
    });
    expect(fake.calls.map((call) => call.slice(0, 7))).toEqual(['move T1', 'move T3']);
    expect(await world.readRun()).toMatchObject({
      state: 'completed',
      failed_moves: 2,
      busy_tenants: 2,
      error: null,
    });
  });

  test('fails with the first tenant that threw, after all others had their turn', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const movers = createFakeMovers(world.db, ({ tenant }) => {
      if (tenant === 'T1') throw new AppError('segment_damaged', { detail: 'The object is torn.' });
      if (tenant === 'T2') throw new Error('private');
    });
    await world.work(movers);
    expect(movers.calls).toHaveLength(3);
    expect(await world.readRun()).toMatchObject({
      state: 'failed',
      error: '"T1": The object is torn.',
      moved_count: 30,
      has_finished: true,
    });
  });

  test.each([false, true])('gives space back in the end, after a failure: %s', async (fails) => {
    await seedDays(world.db, three);
    await world.queue();
    const fake = createFakeMovers(world.db, () => {
      if (fails) throw new Error('private');
    });
    const giveBackSpace = async () => 1000 * fake.calls.length;
    await world.work({ ...fake, giveBackSpace });
    expect(await world.readRun()).toMatchObject({
      state: fails ? 'failed' : 'completed',
      freed_bytes: 3000,
    });
  });

  test('does not fail because space cannot be given back', async () => {
    await seedDays(world.db, three);
    await world.queue();
    const giveBackSpace = () => Promise.reject(new Error('no space'));
    await world.work({ ...createFakeMovers(world.db), giveBackSpace });
    expect(await world.readRun()).toMatchObject({
      state: 'completed',
      moved_count: 60,
      freed_bytes: 0,
    });
  });

  test.each([
    ['the store is away, too', 'The store does not answer.', 1, 0],
    ['only an object of it cannot be read', '"T1": The disk answers with errors (EIO).', 3, 50],
  ])('ends at once, or tells of one tenant, when %s', async (_, error, calls, moved) => {
    await seedDays(world.db, three);
    await world.queue();
    let asked = 0;
    const movers = createFakeMovers(world.db, ({ tenant }) => {
      if (tenant !== 'T1') return;
      const detail = 'The disk answers with errors (EIO).';
      throw new AppError('cold_tier_unavailable', { detail });
    });
    await world.work({
      ...movers,
      async begin() {
        asked += 1;
        if (moved > 0 || asked === 1) return;
        throw new AppError('cold_tier_unavailable', { detail: 'The store does not answer.' });
      },
    });
    expect(movers.calls).toHaveLength(calls);
    expect(await world.readRun()).toMatchObject({ state: 'failed', error, moved_count: moved });
  });

  test('waits for its store, says why and since when, and goes on', async () => {
    await seedDays(world.db, three);
    await world.queue();
    let isAway = true;
    const movers = createFakeMovers(world.db, ({ tenant, wait }) =>
      wait.run(async () => {
        if (isAway && tenant === 'T2')
          throw storeUnavailable('No object', 'the store says SlowDown');
      }),
    );
    const seen: unknown[] = [];
    await world.work({
      ...movers,
      sleep: async () => {
        seen.push(
          await findJob(world.db, runs, { id: 'run_1', reach: null }),
          (await readRetentionOverview(world.db, null)).work[0],
        );
        isAway = false;
      },
    });
    expect(seen).toMatchObject([
      { state: 'waiting', waiting_since: expect.any(String), error: null, moved_count: 10 },
      { kind: 'run', state: 'waiting', done: 10 },
    ]);
    expect(seen[0]).toMatchObject({ waiting_for: expect.stringContaining('SlowDown') });
    expect(await findJob(world.db, runs, { id: 'run_1', reach: null })).toMatchObject({
      state: 'completed',
      moved_count: 60,
      waiting_since: null,
      waiting_for: null,
    });
  });

  test('waits for a database that does not answer', async () => {
    await seedDays(world.db, three);
    await world.queue();
    let isDown = true;
    const movers = createFakeMovers(world.db, ({ tenant }) => {
      if (isDown && tenant === 'T2') throw new AppError('database_unavailable');
    });
    await expect(world.work(movers)).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(await world.readRun()).toMatchObject({ state: 'running', moved_count: 10 });
    isDown = false;
    await world.work(movers);
    expect(await world.readRun()).toMatchObject({ state: 'completed', moved_count: 60 });
  });

  test('comes by more tenants than are read at once', async () => {
    await seedDays(
      world.db,
      Array.from({ length: 205 }, (_, n) => ({ tenant: `T${n}`, age: 9, count: 1 })),
    );
    await world.queue();
    const movers = createFakeMovers(world.db);
    await world.work(movers);
    expect(new Set(movers.calls).size).toBe(205);
    expect(await world.readRun()).toMatchObject({ total_count: 205, moved_count: 205 });
  });
});
