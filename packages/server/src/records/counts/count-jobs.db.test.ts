import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { onGone } from '../../app/retention.ts';
import { AppError } from '../../kernel/errors.ts';
import { createLog } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { CountJobRequest } from '../count.contract.ts';
import { recordFigures } from '../figures.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { changeCount, getCount, startCount } from './count-jobs.ts';
import { addStretch, listOpenCounts, takeNext } from './queries.ts';
import { doCounts, startCounts } from './run-counts.ts';

const db = useTestDatabase();
const cold = useColdStore();
const log = createLog('silent');
const size = { rows: 10, bytes: 2 ** 40, days: 4 };
const never = new AbortController().signal;

/** Sixty records on three stores and five days. */
const store = (tenant: string, prefix = 'e') =>
  ingest(db, cold, [
    numberedRecords(tenant, 60, (n) => ({
      store: `S${n % 3}`,
      event_id: `${prefix}${n}`,
      occurred_at: `2001-03-0${1 + (n % 5)}T10:00:00Z`,
      enrichment: { n },
    })),
  ]);
const start = (tenant: string, more: Partial<CountJobRequest> = {}) =>
  startCount(db, testActor, { tenant, where: 'n < 17', ...more });
const get = (id: string) => getCount(db, testActor, id);
const change = (id: string, state: 'paused' | 'running' | 'cancelled', actor = testActor) =>
  changeCount(db, { actor, request: {} as never, audit: async () => {} }, { id, state });

/** Stops as a process that is killed: after so many stretches, with nothing said. */
async function work(stretches = Number.POSITIVE_INFINITY): Promise<number> {
  const ending = new AbortController();
  let done = 0;
  const counting = {
    ...db,
    query(statement: Parameters<Database['query']>[0], ...more: []) {
      if (statement.sql.includes('looked = looked +')) done += 1;
      if (done > stretches) ending.abort(new Error('killed'));
      ending.signal.throwIfAborted();
      return db.query(statement, ...more);
    },
  } as Database;
  await doCounts({ db: counting, cold, log, size }, ending.signal).catch((error: Error) => {
    if (error.message !== 'killed') throw error;
  });
  return done;
}

test('counts stretch by stretch what was there, in both tiers, and goes on where a killed one stopped', async () => {
  await store('T');
  await freeze(db, cold, { tenant: 'T', id: 'seg_T', filter: `store <> 'S2'` });
  const { id, ...job } = await start('T');
  expect(job).toMatchObject({ state: 'queued', looked: 0, total: 60, started_at: null });
  await store('T', 'late');
  await work(2);
  const half = await get(id);
  expect(half.state).toBe('running');
  expect(half.looked).toBeGreaterThan(0);
  expect(half.looked).toBeLessThan(60);
  // Days have late records by now, which are looked at, and not counted.
  const stretches = await work();
  const whole = await get(id);
  expect(whole).toMatchObject({
    state: 'completed',
    count: 17,
    error: null,
    looked: 120,
    total: 120,
  });
  expect(whole.finished_at).not.toBeNull();
  expect(stretches).toBeLessThan(15);
  expect(await work()).toBe(0);
});

test('open counts take turns, and none of a tenant is seen by a token of others', async () => {
  await store('A');
  await store('B');
  const [first, second] = [await start('A'), await start('B', { store: 'S1' })];
  await work(2);
  for (const { id } of [first, second]) expect((await get(id)).looked).toBeGreaterThan(0);
  const limited = { ...testActor, tenants: ['B'] };
  await expect(getCount(db, limited, first.id)).rejects.toMatchObject({ code: 'job_not_found' });
  await expect(startCount(db, limited, { tenant: 'A', where: 'n < 17' })).rejects.toMatchObject({
    code: 'request_invalid',
  });
  await work();
  expect(await get(second.id)).toMatchObject({ state: 'completed', count: 6 });
});

test('is paused, resumed and cancelled by who asked for it, and stays as it has ended', async () => {
  await store('P');
  const { id } = await start('P');
  await work(1);
  expect((await change(id, 'paused')).state).toBe('paused');
  const { looked } = await get(id);
  expect(await work()).toBe(0);
  const other = { ...testActor, tokenId: 'tok_other', scopes: ['enrichment:read' as const] };
  await expect(change(id, 'running', other)).rejects.toMatchObject({ code: 'scope_missing' });
  expect(await change(id, 'running')).toMatchObject({ state: 'queued', looked });
  await work();
  expect(await get(id)).toMatchObject({ state: 'completed', count: 17, looked: 60 });
  expect((await change(id, 'cancelled')).state).toBe('completed');
  await expect(change(id, 'paused')).rejects.toMatchObject({ code: 'job_finished' });
  const cancelled = await start('P');
  expect((await change(cancelled.id, 'cancelled')).state).toBe('cancelled');
  expect(await work()).toBe(0);
});

test('fails when records of its slice go, and not when others do', async () => {
  await store('G');
  const [on, beside] = [await start('G', { store: 'S1' }), await start('G', { store: 'S2' })];
  const days = [{ store: 'S1', day: '2001-03-02' }];
  const effects = await db.transaction((connection) =>
    onGone(connection, { tenant: 'G', kind: 'erase', days, window: null }),
  );
  await work();
  const { id, requested_by: name } = on;
  expect(effects).toMatchObject({ countsEnded: 1, counts: [{ id, name }] });
  expect(await get(on.id)).toMatchObject({
    state: 'failed',
    count: 0,
    error: 'Records of its slice were erased on request. Start the count again without them.',
  });
  expect((await get(beside.id)).state).toBe('completed');
});

test('waits for a store that is away, and fails for what does not pass', async () => {
  await store('W');
  await freeze(db, cold, { tenant: 'W', id: 'seg_W' });
  const { id } = await start('W');
  const away = new AppError('cold_tier_unavailable', { detail: 'The store is away.' });
  const broken = (error: Error) => ({
    ...cold,
    objects: new Proxy(cold.objects, {
      get() {
        throw error;
      },
    }),
  });
  const run = (error: Error) => doCounts({ db, cold: broken(error), log, size }, never);
  await run(away);
  expect(await get(id)).toMatchObject({
    state: 'waiting',
    error: 'The store is away.',
    finished_at: null,
  });
  expect(await work()).toBe(0);
  await db.query(sql`update record_counts set not_before = now() where id = ${id}`);
  await run(new Error('no'));
  expect(await get(id)).toMatchObject({ state: 'failed', looked: 0 });
});

test('is forgotten after 90 days, once it has ended', async () => {
  await store('F');
  const [ended, held] = [await start('F'), await start('F')];
  await change(held.id, 'paused');
  await work();
  await db.query(
    sql`update record_counts set requested_at = now() - interval '91 days' where tenant = 'F'`,
  );
  await work();
  expect((await get(ended.id)).state).toBe('completed');
  const counts = startCounts({ db, cold, log });
  counts.poke();
  await expect.poll(() => get(ended.id).catch((error) => error.code)).toBe('job_not_found');
  await counts.stop();
  expect((await get(held.id)).state).toBe('paused');
});

test('those that have not ended are told of, by state in the metrics', async () => {
  await store('K');
  const [first, second] = [await start('K'), await start('K')];
  await change(first.id, 'paused');
  await db.query(sql`
    update record_counts set state = 'running', error = 'away', looked = 7 where id = ${second.id}`);
  expect(await listOpenCounts(db, ['K'])).toEqual([
    { kind: 'count', id: first.id, state: 'paused', tenant: 'K', done: 0, total: 60 },
    { kind: 'count', id: second.id, state: 'waiting', tenant: 'K', done: 7, total: 60 },
  ]);
  expect(await listOpenCounts(db, ['L'])).toEqual([]);
  const { svcctl_record_counts: counts } = await recordFigures.read(db);
  expect(counts).toMatchObject({ queued: 0, running: 0, waiting: 1 });
});

test('a token has so many at once and no more', async () => {
  await store('M');
  const actor = { ...testActor, tokenId: 'tok_many' };
  const ask = () => startCount(db, actor, { tenant: 'M' });
  for (let n = 0; n < 25; n += 1) await ask();
  await expect(ask()).rejects.toMatchObject({ code: 'counts_full' });
  await work();
  expect((await ask()).state).toBe('queued');
  await work();
});

test('a stretch is added once, and not to a count that was held or cancelled meanwhile', async () => {
  await store('O');
  const { id } = await start('O');
  await takeNext(db);
  const found = { count: 3, bytes: 30, looked: 10, to: { store: 'S0', day: '2001-03-02' } };
  for (let twice = 0; twice < 2; twice += 1) await addStretch(db, { id, looked: 0 }, found);
  expect(await get(id)).toMatchObject({ count: 3, bytes: 30, looked: 10 });
  for (const state of ['paused', 'cancelled'] as const) {
    await change(id, state);
    await addStretch(db, { id, looked: 10 }, { ...found, to: null });
    expect(await get(id)).toMatchObject({ state, count: 3, looked: 10 });
  }
});
