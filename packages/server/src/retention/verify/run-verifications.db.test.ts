import { truncate } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { countPace, holdPace } from '../../../test/held-pace.ts';
import { AppError } from '../../kernel/errors.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import { isHeldLock } from '../../platform/postgres/locks.ts';
import { runOpenVerifications, startVerifications } from './run-verifications.ts';
import { clean, useVerifying } from './testing/verifying.ts';

// How a verification is cut into shares, stopped, made to wait, and limited to a part.
let path: string;
const data = useVerifying();
let putBack: () => Promise<void>;
beforeAll(async () => {
  ({ path } = await data.fill());
  putBack = await data.keep();
});
afterEach(() => putBack());

const never = new AbortController().signal;
const now = async () =>
  (await data.db.query<{ now: string }>(sql`select clock_timestamp()::text as now`))[0]?.now ?? '';
const byText = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1);

test('it rests after it fetched, read or listed some objects, compared small tenants, or a month', async () => {
  await data.addRecords('NY', ['2001-01-05', '2001-02-01'], 400);
  const { pace, rests } = countPace();
  expect(await data.verifyAll({}, { ...data, pace })).toMatchObject({ ...clean, segments_done: 2 });
  // The objects are small: they are fetched together, and read with one statement. The two small tenants are compared
  // together, and NY by its months.
  expect(rests()).toBe(1 + 1 + 1 + 1 + 2);
});

const verified = async () =>
  (
    await data.db.query<{ tenant: string }>(
      sql`select tenant from verified_tenants order by tenant`,
    )
  ).map(({ tenant }) => tenant);

test('of small tenants that are compared together, only one with a wrong counter is not noted as right', async () => {
  await data.addRecords('NY', ['2001-01-05'], 5);
  await data.db.query(sql`update leaf_months set digest = 7 where tenant = 'TX' and store = 'AUS'`);
  const { pace, rests } = countPace();
  const { problems } = await data.verifyAll({}, { ...data, pace });
  expect(new Set(problems.map(({ tenant }) => tenant))).toEqual(new Set(['TX']));
  expect(problems[0]?.message).toContain('TX › AUS › 2001-01: the counter leaf_months says');
  // Objects as above, and the batch.
  expect(rests()).toBe(1 + 1 + 1 + 1);
  expect(await verified()).toEqual(['CA/é', 'NY']);
});

test('of small tenants of which more differs than is listed, none is noted as right', async () => {
  await data.db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
    select tenant, 'A', day, 0, 1, 0, day, day
    from unnest(array['W1', 'W2', 'W3', 'W4']) tenant, generate_series(date '2001-01-01', '2001-12-01', '1 day') day`);
  const { problem_count } = await data.verifyAll();
  expect(problem_count).toBeGreaterThan(4 * 335);
  expect(await verified()).toEqual([]);
});

test('one that is stopped while it rests is done anew, from its beginning, by whoever comes next', async () => {
  const held = holdPace();
  const stopping = new AbortController();
  const id = await data.request();
  const resting = runOpenVerifications({ ...data, pace: held.pace }, stopping.signal);
  await held.resting;
  stopping.abort(new Error('stopped'));
  await expect(resting).rejects.toThrow('stopped');
  expect(await data.read(id)).toMatchObject({ state: 'running', ok: null, finished_at: null });
  const runner = startVerifications(data);
  runner.poke();
  await expect
    .poll(() => data.read(id), { timeout: 120_000 })
    .toMatchObject({ ...clean, segments_done: 2, records_done: 166 });
  await runner.stop();
});

test('since: what was found right then or later is not read again, what was not is', async () => {
  const start = await now();
  expect(await data.verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 2 });
  const next = await data.makeCold('TX', '2001-01-07');
  expect(await data.verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 1 });
  expect(await data.verifyAll({ since: start })).toMatchObject({ ...clean, segments_total: 0 });
  expect(await data.verifyAll({ since: await now() })).toMatchObject({
    ...clean,
    segments_total: 3,
  });
  // What is damaged is found again and again, and so is a wrong counter.
  const later = await now();
  await truncate(await data.pathOfSegment(next), 1000);
  await data.db.query(
    sql`update leaf_stores set count = count + 1 where tenant = 'TX' and store = 'AUS'`,
  );
  for (const total of [3, 1, 1]) {
    const { problems, segments_total } = await data.verifyAll({ since: later });
    expect(segments_total).toBe(total);
    expect(problems.map(({ kind }) => kind)).toEqual(['object_size', 'counter_mismatch']);
  }
});

test('a sample reads so many percent, others each time, and lists no objects', async () => {
  await data.objects.put('records/tenant=TX/2001-01-01_2001-01-02_seg_orphan.parquet', path);
  // A hundred segments that lack their objects: each that is read is told.
  await data.db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
    select 'TX', 'seg_' || n, 'records/tenant=TX/' || n, 1, '', 0, 0, 0, '2001-01-05', '2001-01-05'
    from generate_series(1, 400) as n`);
  const sampled = async (percent: number) => {
    const done = await data.verifyAll({ sample_percent: percent });
    expect(done.segments_done).toBe(done.segments_total);
    expect(done.problems.some(({ kind }) => kind === 'object_orphan')).toBe(false);
    return done.problems.map((problem) => problem.object_key).sort(byText);
  };
  const [one, other] = [await sampled(25), await sampled(25)];
  for (const keys of [one, other]) {
    expect(keys.length).toBeGreaterThan(50);
    expect(keys.length).toBeLessThan(150);
  }
  expect(one).not.toEqual(other);
  expect(await sampled(100)).toHaveLength(400);
});

test('shares of many segments are cut by their number and their bytes', async () => {
  await data.db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
    select 'TY', 'seg_' || to_char(n, 'FM0000'), 'records/tenant=TY/' || n, case when n <= 250 then 1 else 40000000 end,
      '', 0, 0, 0, '2001-01-05', '2001-01-05'
    from generate_series(1, 254) as n`);
  const id = await data.request({ tenant: 'TY' });
  const stopping = new AbortController();
  const objects: ObjectStore = {
    ...data.objects,
    head(key, signal) {
      stopping.abort(new Error('stopped'));
      return data.objects.head(key, signal);
    },
  };
  await expect(runOpenVerifications({ ...data, objects }, stopping.signal)).rejects.toThrow();
  const shares = await data.db.query<{ last: string }>(sql`
    select work -> 'last' ->> 1 as last from work_shares
    where job = ${id} and work ->> 'kind' = 'segments' order by number`);
  expect(shares.map(({ last }) => last)).toEqual(['seg_0100', 'seg_0200', 'seg_0252', 'seg_0254']);
  expect(await data.verifyAll({ tenant: 'TX' })).toMatchObject(clean);
  expect(await data.read(id)).toMatchObject({ segments_done: 254, problem_count: 254 });
});

test('a store that is away is waited for: the verification says why and since when, and goes on', async () => {
  let isAway = true;
  const objects: ObjectStore = {
    ...data.objects,
    head: (...given) =>
      isAway
        ? Promise.reject(new AppError('cold_tier_unavailable', { detail: 'No answer.' }))
        : data.objects.head(...given),
  };
  const seen: unknown[] = [];
  const id = await data.request();
  const sleep = async () => {
    seen.push(await data.read(id));
    // Processes of a release that did verifications alone are kept out by this lock.
    seen.push(
      await data.db.query(sql`select mode from pg_locks where ${isHeldLock('verifications')}`),
    );
    isAway = false;
  };
  await runOpenVerifications({ ...data, objects, sleep }, never);
  expect(seen).toMatchObject([
    { state: 'waiting', waiting_for: 'No answer.', waiting_since: expect.any(String), error: null },
    [{ mode: 'ShareLock' }],
  ]);
  expect(await data.read(id)).toMatchObject({ ...clean, waiting_for: null, waiting_since: null });
});
