import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import type { ShownOutcome } from '../values.ts';
import { findBulkJob } from './job-queries.ts';
import { listDeliveries } from './lists.ts';
import { retryDeadLetter } from './retry.ts';
import { lookAtNext } from './settle.ts';
import {
  clearQueue,
  jobParts,
  makeBulkJob,
  type SeededEndpoint,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
  silentAct,
  workOff,
} from './testing/seed.ts';

const db = useTestDatabase();
let endpoint: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(db);
  await db.query(sql`delete from webhook_endpoints`);
  endpoint = await seedEndpoint(db);
});

/** Looks now, whenever it was to be. Answers what is shown of a job. */
const look = async (id: string, deliveryDays?: number) => {
  await db.query(sql`update dead_letter_jobs set look_at = now() where look_at is not null`);
  while (await lookAtNext(db, deliveryDays));
  const outcome = (await findBulkJob(db, null, id))?.outcome;
  return { ...outcome, isSettled: outcome?.settled_at !== null };
};
type Query = Parameters<typeof listDeliveries>[3];
const list = (query: Query) => listDeliveries(db, Buffer.alloc(32), testActor, query);
const rowsOf = async (outcome?: ShownOutcome) => {
  const { data } = await list({ job_id: 'rty_1', ...(outcome && { outcome }) });
  return data.map(({ id }) => id).sort();
};

test('each row of a retry is counted as what it is now, and the list finds the rows of each number', async () => {
  const paused = await seedEndpoint(db, { pausedSeconds: 600 });
  const off = await seedEndpoint(db);
  const all = await seedDeliveries(db, endpoint, 5);
  const waiting = await seedDeliveries(db, paused, 3);
  const disabled = await seedDeliveries(db, off, 2);
  await makeBulkJob(db, 'rty_1');
  await workOff(db);
  const [delivered = '', failed = '', abandoned = '', again = '', left = ''] = all;
  const set = (id: string, values: ReturnType<typeof sql>) =>
    db.query(sql`update deliveries set ${values} where id = ${id}`);
  await set(delivered, sql`status = 'delivered', next_attempt_at = null`);
  await set(failed, sql`status = 'pending', attempts = 9`);
  await set(abandoned, sql`status = 'abandoned', next_attempt_at = null`);
  await set(again, sql`status = 'abandoned', next_attempt_at = null`);
  await db.query(
    sql`update webhook_endpoints set enabled = false, disabled_at = now() where id = ${off.id}`,
  );
  await retryDeadLetter(db, again, { act: silentAct, wakeUp: jobParts.wakeUp, maxAttempts: 8 });

  const { counts, isSettled } = await look('rty_1');
  expect(counts).toEqual({
    delivered: 1,
    failed_again: 1,
    abandoned: 1,
    under_way: 2,
    retried_since: 1,
    waits_for_breaker: 2,
    waits_for_endpoint: 2,
  });
  expect(isSettled).toBe(false);
  expect(await rowsOf()).toHaveLength(9);
  expect(await rowsOf('failed_again')).toEqual([failed]);
  expect(await rowsOf('waits_for_endpoint')).toEqual(disabled.sort());
  // One row of a paused endpoint passes the pause, to see whether it is over.
  const probing = await rowsOf('under_way');
  expect(probing).toContain(left);
  expect([...(await rowsOf('waits_for_breaker')), ...probing]).toEqual(
    expect.arrayContaining(waiting),
  );
  await expect(list({ outcome: 'delivered' })).rejects.toMatchObject({ code: 'request_invalid' });
});

test('a job is settled when its last row has ended, and stays what it was then', async () => {
  const [one = '', two = ''] = await seedDeliveries(db, endpoint, 2);
  await makeBulkJob(db, 'rty_s');
  await workOff(db);
  expect(await look('rty_s')).toMatchObject({ counts: { under_way: 2 }, isSettled: false });
  const end = (id: string, status: string) =>
    db.query(
      sql`update deliveries set status = ${status}, next_attempt_at = null, last_attempt_at = now() where id = ${id}`,
    );
  await end(one, 'delivered');
  expect(await look('rty_s')).toMatchObject({ isSettled: false });
  await end(two, 'abandoned');
  const settled = await look('rty_s');
  expect(settled).toMatchObject({ counts: { delivered: 1, abandoned: 1 }, isSettled: true });
  await db.query(sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    values (${endpoint.id}, 'abandoned', 'status', 'T', 1)
    on conflict (endpoint_id, status, failure_class) do update set count = 1`);
  await makeBulkJob(db, 'rty_t');
  await workOff(db);
  expect(await look('rty_s')).toEqual(settled);
  expect(await look('rty_t')).toMatchObject({ counts: { under_way: 1 } });
});

test('a job that does nothing, and a purge, are settled at their end', async () => {
  await makeBulkJob(db, 'rty_none');
  await workOff(db);
  expect(await look('rty_none')).toMatchObject({ counts: {}, isSettled: true });
  await seedDelivery(db, endpoint);
  await makeBulkJob(db, 'prg_1', { action: 'purge' });
  expect(await look('prg_1')).toMatchObject({ counts: {}, isSettled: false });
  await workOff(db);
  expect(await look('prg_1')).toMatchObject({ counts: { discarded: 1 }, isSettled: true });
});

test('a job is looked at for thirty days, and seldom while nothing changes', async () => {
  await seedDelivery(db, endpoint);
  await makeBulkJob(db, 'rty_q');
  await workOff(db);
  const waitOf = async () => {
    const [row] = await db.query<{ wait: number | null }>(sql`
      select extract(epoch from look_at - looked_at)::float8 as wait from dead_letter_jobs where id = 'rty_q'`);
    return row?.wait ?? null;
  };
  await look('rty_q');
  const first = (await waitOf()) ?? 0;
  const age = (seconds: number) =>
    db.query(sql`
      update dead_letter_jobs set outcome = json_build_object('counts', outcome -> 'counts',
        'changed_at', now() - make_interval(secs => ${seconds}))`);
  await age(400);
  await look('rty_q');
  expect(await waitOf()).toBeGreaterThan(first);
  expect(await waitOf()).toBeGreaterThanOrEqual(39);
  const made = (days: number) =>
    db.query(sql`update dead_letter_jobs set created_at = now() - make_interval(days => ${days})`);
  await made(29);
  await look('rty_q');
  expect(await waitOf()).not.toBe(null);
  await made(31);
  expect(await look('rty_q')).toMatchObject({ counts: { under_way: 1 }, isSettled: false });
  expect(await waitOf()).toBe(null);
});

test('a job is not looked at once its rows may be forgotten, so none of them is told as retried', async () => {
  for (const [id, days, ago] of [
    ['rty_old', 30, 31],
    ['rty_short', 7, 8],
  ] as const) {
    await seedDelivery(db, endpoint);
    await makeBulkJob(db, id);
    await workOff(db);
    await look(id);
    await db.query(sql`
      update dead_letter_jobs set created_at = now() - make_interval(days => ${ago}) where id = ${id}`);
    await db.query(sql`delete from deliveries where job_id = ${id}`);
    expect((await look(id, days)).counts).toEqual({ under_way: 1 });
  }
});

test('a look that is cut leaves the job to the next one, and is not made twice at once', async () => {
  await seedDelivery(db, endpoint);
  await makeBulkJob(db, 'rty_c');
  await workOff(db);
  await db.query(sql`update dead_letter_jobs set look_at = now()`);
  const cut = {
    query: (statement: ReturnType<typeof sql>) =>
      statement.sql.includes('json_build_object')
        ? Promise.reject(new Error('killed'))
        : db.query(statement),
  } as unknown as typeof db;
  await expect(lookAtNext(cut)).rejects.toThrow('killed');
  expect(await lookAtNext(db)).toBe(false);
  expect(await look('rty_c')).toMatchObject({ counts: { under_way: 1 } });
});
