import pino from 'pino';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { holdPace } from '../../../test/held-pace.ts';
import { blocksOf } from '../../../test/one-server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { unpaced } from '../../platform/work/pace.ts';
import { findBulkJob } from './job-queries.ts';
import { findOpenEndpoints } from './queries.ts';
import { runBatch, startBulkJobs } from './run-jobs.ts';
import {
  clearQueue,
  findWrongCounts,
  jobParts,
  makeBulkJob,
  type SeededEndpoint,
  seedDeliveries,
  seedEndpoint,
  workOff,
} from './testing/seed.ts';

const db = useTestDatabase();
let endpoint: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(db);
  endpoint = await seedEndpoint(db);
});

const batch = (on: Database = db) => runBatch(on, jobParts);
const makeJob = (id: string, rate: number | null = null) =>
  makeBulkJob(db, id, { rate, endpoint_id: endpoint.id });
const readJob = async (id: string) => {
  const rows = await db.query<{ state: string; rows_done: number }>(
    sql`select state, rows_done from dead_letter_jobs where id = ${id}`,
  );
  return rows[0];
};
const countRearms = async () => {
  const rows = await db.query<{ rows: number; rearms: number }>(
    sql`select count(*) filter (where status = 'queued') as rows, sum(version)::int as rearms from deliveries`,
  );
  return rows[0];
};

test('nothing is to do while no job is running', async () => {
  expect(await batch()).toEqual({ hasWorked: false, waitMillis: null });
  await makeJob('rty_p');
  await db.query(sql`update dead_letter_jobs set state = 'paused'`);
  expect((await batch()).hasWorked).toBe(false);
});

test('a batch by a rate reads about as much as it takes of a failure class', async () => {
  await seedDeliveries(db, endpoint, 3000, { failureClass: 'reset' });
  await makeBulkJob(db, 'rty_c', { status: 'abandoned', failure_class: 'reset', rate: 100 });
  await db.query(sql`analyze deliveries`);
  const blocks = await blocksOf(db, batch);
  expect(blocks['deliveries'], JSON.stringify(blocks)).toBeLessThan(100);
  await batch();
  expect(await readJob('rty_c')).toMatchObject({ rows_done: 10 });
});

test.each(['retry', 'purge'] as const)(
  'a batch of a %s that fails half-way leaves neither rows nor progress behind',
  async (action) => {
    await seedDeliveries(db, endpoint, 20);
    await makeBulkJob(db, 'job_f', { action, endpoint_id: endpoint.id });
    const failing: Database = {
      ...db,
      transaction: (work, options) =>
        db.transaction(async (connection) => {
          await work(connection);
          throw new Error('killed');
        }, options),
    };
    // The first finds nothing pending.
    await batch();
    await expect(batch(failing)).rejects.toThrow('killed');
    expect(await countRearms()).toEqual({ rows: 0, rearms: 0 });
    expect(await readJob('job_f')).toEqual({ state: 'running', rows_done: 0 });
    expect(await findWrongCounts(db)).toEqual([]);
    await workOff(db);
    expect(await readJob('job_f')).toEqual({ state: 'completed', rows_done: 20 });
    expect(await findWrongCounts(db)).toEqual([]);
  },
);

test('many runners share a job and do each row once', async () => {
  await seedDeliveries(db, endpoint, 2600, { status: 'pending' });
  await seedDeliveries(db, endpoint, 2600);
  await makeJob('rty_m');
  const woken: string[] = [];
  const wakeUp = { wake: (ids: readonly string[]) => void woken.push(...ids) };
  const log = pino({ level: 'silent' });
  const runners = Array.from({ length: 4 }, () =>
    startBulkJobs(db, { ...jobParts, wakeUp, log, pace: unpaced }),
  );
  const poll = { timeout: 120_000, interval: 10 };
  await expect
    .poll(() => {
      for (const runner of runners) runner.poke();
      return readJob('rty_m');
    }, poll)
    .toEqual({ state: 'completed', rows_done: 5200 });
  await Promise.all(runners.map((runner) => runner.stop()));
  expect(await countRearms()).toEqual({ rows: 5200, rearms: 5200 });
  expect(new Set(woken)).toEqual(new Set([endpoint.id]));
  expect(await findWrongCounts(db)).toEqual([]);
});

test('rows that fail after the job was made are left alone', async () => {
  await makeJob('rty_s');
  await seedDeliveries(db, endpoint, 3, { secondsAgo: -60 });
  await batch();
  await batch();
  expect(await readJob('rty_s')).toEqual({ state: 'completed', rows_done: 0 });
  expect(await countRearms()).toEqual({ rows: 0, rearms: 0 });
});

test('a job waits while its endpoint is disabled meanwhile, and then goes on to its end', async () => {
  await seedDeliveries(db, endpoint, 600);
  await makeJob('rty_held');
  // The first finds nothing pending.
  await batch();
  await batch();
  await db.query(sql`
    update webhook_endpoints set enabled = false, disabled_at = clock_timestamp() where id = ${endpoint.id}`);
  await batch();
  expect(await readJob('rty_held')).toEqual({ state: 'running', rows_done: 250 });
  expect(await findBulkJob(db, null, 'rty_held')).toMatchObject({
    waits_for_endpoint: true,
    rows_skipped: 0,
  });
  expect((await batch()).waitMillis).toBeGreaterThan(0);
  await db.query(sql`
    update webhook_endpoints set enabled = true, disabled_at = null where id = ${endpoint.id}`);
  await db.query(sql`
    update dead_letter_jobs set position = (position::jsonb - 'ready_at')::json where id = 'rty_held'`);
  await workOff(db);
  expect(await readJob('rty_held')).toEqual({ state: 'completed', rows_done: 600 });
});

test('a job of several endpoints goes on where one is disabled meanwhile, and says how much of that is left', async () => {
  const [other, before] = [await seedEndpoint(db), await seedEndpoint(db)];
  await seedDeliveries(db, endpoint, 3);
  await seedDeliveries(db, other, 5);
  await seedDeliveries(db, before, 7);
  const disable = (id: string) =>
    db.query(sql`
      update webhook_endpoints set enabled = false, disabled_at = clock_timestamp() where id = ${id}`);
  // What was disabled already was to be skipped.
  await disable(before.id);
  await makeBulkJob(db, 'rty_all');
  await disable(other.id);
  await workOff(db);
  expect(await findBulkJob(db, null, 'rty_all')).toMatchObject({
    state: 'completed',
    waits_for_endpoint: false,
    rows_done: 3,
    rows_skipped: 12,
    rows_left: 5,
  });
});

test('a paced job waits between its batches while another goes on', async () => {
  await seedDeliveries(db, endpoint, 10);
  await makeJob('rty_slow', 1);
  await batch();
  await batch();
  const { hasWorked, waitMillis } = await batch();
  expect(hasWorked).toBe(false);
  expect(waitMillis).toBeGreaterThan(0);
  expect(waitMillis).toBeLessThanOrEqual(1000);
  expect((await readJob('rty_slow'))?.state).toBe('running');
  await makeJob('rty_other');
  expect((await batch()).hasWorked).toBe(true);
});

test('a job that another process has a batch of is passed over', async () => {
  await seedDeliveries(db, endpoint, 3);
  await makeJob('rty_held');
  await db.transaction(async (holder) => {
    await holder.query(sql`select id from dead_letter_jobs where id = 'rty_held' for update`);
    expect((await batch()).hasWorked).toBe(false);
  });
  expect((await batch()).hasWorked).toBe(true);
});

test('a runner that gives way to clients keeps what it has done, and ends when it is stopped', async () => {
  await seedDeliveries(db, endpoint, 600, { status: 'pending' });
  await makeJob('rty_waits');
  const log = pino({ level: 'silent' });
  const { pace, resting } = holdPace();
  const held = startBulkJobs(db, { ...jobParts, log, pace });
  held.poke();
  await resting;
  await held.stop();
  expect(await readJob('rty_waits')).toEqual({ state: 'running', rows_done: 250 });
  const next = startBulkJobs(db, { ...jobParts, log, pace: unpaced });
  next.poke();
  await expect.poll(() => readJob('rty_waits')).toEqual({ state: 'completed', rows_done: 600 });
  await next.stop();
  expect(await countRearms()).toEqual({ rows: 600, rearms: 600 });
});

test('a look at a paused endpoint does not read the whole queue, however often it is repeated', async () => {
  const paused = await seedEndpoint(db, { pausedSeconds: 60 });
  await seedDeliveries(db, paused, 2000);
  await db.query(sql`analyze deliveries`);
  const since = new Date().toISOString();
  const read = await db.transaction(async (connection) => {
    // The statistics of a connection may still hold what its earlier transactions read.
    const rowsRead = async () => {
      const [found] = await connection.query<{ rows: number }>(
        sql`select seq_tup_read::int as rows from pg_stat_xact_user_tables where relname = 'deliveries'`,
      );
      return found?.rows ?? 0;
    };
    const before = await rowsRead();
    // PostgreSQL keeps a plan from the sixth time on.
    for (let look = 0; look < 8; look += 1) {
      await findOpenEndpoints(connection, [paused.id], { defaultBudget: 8, since });
    }
    return (await rowsRead()) - before;
  });
  expect(read).toBe(0);
});
