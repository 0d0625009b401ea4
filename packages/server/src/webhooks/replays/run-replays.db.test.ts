import pino from 'pino';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { hold } from '../../../test/held-pace.ts';
import { blocksOf, untilLockWaits } from '../../../test/one-server.ts';
import { newId } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { unpaced } from '../../platform/work/pace.ts';
import { discardOfEndpoint } from '../dead-letters/queries.ts';
import { lookAtNext } from '../dead-letters/settle.ts';
import {
  clearQueue,
  countStatuses,
  findWrongCounts,
  type SeededEndpoint,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
} from '../dead-letters/testing/seed.ts';
import { claimDeliveries } from '../drainer/queries.ts';
import { cancelReplaysOf } from '../endpoints/queries.ts';
import { forgetHistory } from '../forget.ts';
import { eraseBatch } from '../incidents/erase.ts';
import { laneOf } from '../lanes.ts';
import { changePaced } from '../paced-queries.ts';
import { restoredText } from '../values.ts';
import { findReplay, insertReplay, type NewReplay, replayTable } from './queries.ts';
import { ReplayFilter } from './replay-filter.ts';
import { runShare, startReplays } from './run-replays.ts';
import { allOf, filterBy, putData, reportOf } from './testing/reported.ts';
import { mostWaiting } from './words.ts';

const db = useTestDatabase();
let endpoint: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(db);
  await db.query(sql`delete from replays`);
  await db.query(sql`delete from incidents`);
  endpoint = await seedEndpoint(db);
});

const log = pino({ level: 'silent' });
const options = {
  wakeUp: { wake() {} },
  deliveryDays: 30,
  settleMillis: 0,
  log,
  filter: new ReplayFilter(log),
};
const share = (on: Database = db) => runShare(on, options);

const report = (count: number, tenant?: string) => reportOf(db, count, tenant);
const all = () => allOf(endpoint);

async function ask(more: Partial<NewReplay> = {}): Promise<string> {
  const id = newId('rpl');
  await insertReplay(db, {
    ...all(),
    id,
    selection: 'all',
    keepsIds: false,
    rate: null,
    maxAttempts: 8,
    rowsTotal: 0,
    createdBy: 'test',
    ...more,
  });
  return id;
}
const read = async (id: string) => await findReplay(db, null, id);
/** The incidents of which a replay made deliveries, in the order in which these come due. */
const madeOf = async (id: string) =>
  (
    await db.query<{ incident_id: string }>(sql`
      select incident_id from deliveries where replay_id = ${id} order by next_attempt_at`)
  ).map((row) => row.incident_id);

/** What became of the deliveries of a replay, looked at now. */
const look = async (id: string) => {
  await db.query(sql`update replays set look_at = now() where look_at is not null`);
  while (await lookAtNext(db));
  return (await read(id))?.outcome;
};

test('what became of its deliveries is looked at until it is settled, and those that wait for the breaker are told', async () => {
  endpoint = await seedEndpoint(db, { pausedSeconds: 600 });
  const [last] = await report(3);
  const id = await ask();
  expect(await look(id)).toMatchObject({ counts: {}, settled_at: null });
  while ((await share()).hasWorked);
  expect(await look(id)).toMatchObject({ counts: { waits_for_breaker: 3 }, settled_at: null });
  await db.query(sql`
    update deliveries set status = case when incident_id = ${last} then 'discarded' else 'delivered' end,
      next_attempt_at = null where replay_id = ${id}`);
  expect(await look(id)).toMatchObject({
    counts: { delivered: 2, discarded: 1 },
    settled_at: expect.any(String),
  });
  expect(await read(id)).toMatchObject({ state: 'completed', rows_done: 3 });
});

/** The transactions of shares that have inserted deliveries. */
const isHeld = sql`
  select from pg_locks where relation = 'deliveries'::regclass and mode = 'RowExclusiveLock' and granted`;

test('deliveries come due in the order of the reports, over all shares', async () => {
  const ids = await report(600);
  const id = await ask({ rowsTotal: 500 });
  while ((await share()).hasWorked);
  expect(await madeOf(id)).toEqual(ids);
  expect(await read(id)).toMatchObject({ state: 'completed', rows_done: 600, rows_total: 600 });
});

test.each(['failed', 'missed'] as const)(
  'a share by a rate reads about as much as it takes of what %s',
  async (selection) => {
    await report(500);
    if (selection === 'failed') await failAll(500);
    await db.query(sql`analyze incidents, deliveries`);
    const id = await ask({ selection, rate: 100 });
    const blocks = await blocksOf(db, async (counted) =>
      expect(await share(counted)).toMatchObject({ hasWorked: true }),
    );
    const sum = Object.values(blocks).reduce((all, each) => all + each, 0);
    expect(sum, JSON.stringify(blocks)).toBeLessThan(900);
    await share();
    expect(await read(id)).toMatchObject({ rows_done: 10 });
  },
);

/** Makes a dead letter of each of so many incidents. */
async function failAll(count: number): Promise<void> {
  await seedDeliveries(db, endpoint, count, { incidentId: 'inc_of_all' });
  await db.query(sql`delete from incidents where id = 'inc_of_all'`);
  await db.query(sql`
    update deliveries d set incident_id = i.id
    from (select id, row_number() over () as n from incidents) as i,
      (select id, row_number() over () as n from deliveries) as o
    where d.id = o.id and i.n = o.n`);
}

describe('a share that is killed', () => {
  const dying: Database = {
    ...db,
    transaction: (work, given) =>
      db.transaction(async (connection) => {
        await work(connection);
        throw new Error('killed');
      }, given),
  };

  test('leaves neither deliveries nor its place behind, and is done once afterwards', async () => {
    const ids = await report(300);
    const dead = await seedDelivery(db, endpoint, { secondsAgo: 200 });
    const id = await ask();
    await expect(share(dying)).rejects.toThrow('killed');
    expect(await madeOf(id)).toEqual([]);
    expect(await read(id)).toMatchObject({ state: 'running', rows_done: 0 });
    await share();
    await expect(share(dying)).rejects.toThrow('killed');
    while ((await share()).hasWorked);
    expect((await madeOf(id)).toSorted()).toHaveLength(301);
    expect(new Set(await madeOf(id)).size).toBe(301);
    expect(ids.length).toBe(300);
    expect(dead).toMatch(/^dlv_/);
    expect(await findWrongCounts(db)).toEqual([]);
  });
});

test('many runners share a replay and make each delivery once', async () => {
  await report(1500);
  const id = await ask();
  const runners = Array.from({ length: 4 }, () => startReplays(db, { ...options, pace: unpaced }));
  const state = async () => {
    for (const runner of runners) runner.poke();
    return read(id);
  };
  await expect
    .poll(state, { timeout: 120_000, interval: 10 })
    .toMatchObject({ state: 'completed', rows_done: 1500 });
  await Promise.all(runners.map((runner) => runner.stop()));
  expect(new Set(await madeOf(id)).size).toBe(1500);
});

test('no more than 2,000 wait at a time, and a replay that is cancelled then leaves no more', async () => {
  await report(mostWaiting + 300);
  const id = await ask();
  for (let n = 0; n < 12; n++) await share();
  expect(await read(id)).toMatchObject({ state: 'running', rows_done: mostWaiting });
  await db.query(sql`
    update deliveries set status = 'delivered', next_attempt_at = null, finished_at = now()
    where id in (select id from deliveries where replay_id = ${id} order by id limit 40)`);
  await db.query(sql`update replays set ready_at = null`);
  await share();
  expect((await read(id))?.rows_done).toBe(mostWaiting + 40);
  await changePaced(db, replayTable, id, { state: 'cancelled' });
  expect(await share()).toEqual({ hasWorked: false, waitMillis: null });
  expect((await look(id))?.counts).toEqual({ delivered: 40, under_way: mostWaiting });
});

test('a rate bounds what is queued, over all processes together', async () => {
  await report(100);
  const id = await ask({ rate: 2 });
  await share();
  expect(await read(id)).toMatchObject({ rows_done: 1 });
  const { hasWorked, waitMillis } = await share();
  expect(hasWorked).toBe(false);
  expect(waitMillis).toBeGreaterThan(50);
  expect(waitMillis).toBeLessThanOrEqual(500);
});

test('what is reported goes before what is replayed', async () => {
  await report(20);
  await ask();
  await share();
  const live = await seedDelivery(db, endpoint, { status: 'queued' });
  const lane = laneOf(endpoint.id);
  await db.query(sql`update lanes set keeper = 7 where lane = ${lane}`);
  const lease = { id: 1, seconds: 60, keeper: 7, onlyProbes: false };
  const of = (isFresh: boolean) => [{ lane, endpointId: endpoint.id, count: 10, isFresh }];
  const fresh = await claimDeliveries(db, of(true), lease);
  expect(fresh.map((row) => row.id)).toEqual([live]);
  expect(await claimDeliveries(db, of(false), lease)).toHaveLength(10);
});

test('a replay does not end before the reports of its range are committed', async () => {
  const unsettled = { ...options, settleMillis: 60_000 };
  const [settled, late, early] = await report(3);
  const age = (incident = '', seconds = 0) =>
    db.query(sql`
    update incidents set created_at = now() - make_interval(secs => ${seconds}) where id = ${incident}`);
  await age(settled, 90);
  // It is reported before the one that follows, and committed after that is seen.
  const tenant = sql`update incidents set tenant = case tenant when 'other' then ${endpoint.tenant} else 'other' end`;
  await age(late, 40);
  await age(early, 50);
  await db.query(sql`${tenant} where id = ${early}`);
  const id = await ask();
  await runShare(db, unsettled);
  expect(await madeOf(id)).toEqual([settled]);
  expect((await read(id))?.state).toBe('running');
  await db.query(sql`${tenant} where id = ${early}`);
  await db.query(sql`update replays set ready_at = null`);
  await share();
  expect(await madeOf(id)).toEqual([settled, early, late]);
  await db.query(sql`update replays set ready_at = null`);
  await share();
  expect((await read(id))?.state).toBe('completed');
});

describe('a filter', () => {
  const subscribe = (where: string) => filterBy(db, endpoint, where);
  const payloads = (of: (n: number) => string, ids: readonly string[]) => putData(db, ids, of);

  test('leaves out what it refuses, over all shares, and in the order of the reports', async () => {
    const ids = await report(2300);
    await payloads((n) => `{"n":${n}}`, ids);
    await subscribe('n >= 1900 or n < 3');
    const id = await ask();
    while ((await share()).hasWorked);
    expect(await madeOf(id)).toEqual(ids.filter((_, n) => n < 3 || n >= 1900));
    expect(await read(id)).toMatchObject({ state: 'completed', rows_done: 403 });
  });

  test('is that of the moment of each share', async () => {
    const ids = await report(300);
    await payloads((n) => `{"n":${n}}`, ids);
    await subscribe('n != 7');
    const id = await ask();
    await share();
    await subscribe('n > 290');
    await share();
    expect(await madeOf(id)).toEqual(ids.filter((_, n) => (n < 250 && n !== 7) || n > 290));
  });

  test('that this release cannot read lets all pass, and is told once', async () => {
    const ids = await report(600);
    await subscribe('n ~ 1');
    const told: unknown[] = [];
    const warned = { warn: (_: unknown, text?: string) => void told.push(text) };
    const id = await ask();
    const own = { ...options, filter: new ReplayFilter(warned) };
    while ((await runShare(db, own)).hasWorked);
    expect(await madeOf(id)).toEqual(ids);
    expect(told).toEqual(['a filter of an endpoint cannot be read']);
  });

  test('that costs too much lets pass, and a share ends when its steps are done', async () => {
    const ids = await report(120);
    await payloads(
      (n) =>
        n % 2 === 0 ? '{"tags":[]}' : `{"tags":["${'a'.repeat(50)}"${',"b"'.repeat(21_000)}]}`,
      ids,
    );
    await subscribe('any(tags) = "x"');
    const told: unknown[] = [];
    const warned = { warn: (more: unknown) => void told.push(more) };
    const id = await ask();
    await runShare(db, { ...options, log: warned });
    const first = (await madeOf(id)).length;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(60);
    expect(told).toEqual([{ replay: id, endpoint: endpoint.id, incidents: first }]);
    while ((await share()).hasWorked);
    expect(await madeOf(id)).toEqual(ids.filter((_, n) => n % 2 === 1));
  });
});

describe('beside others', () => {
  test('an incident that is being erased is waited for, and left out then', async () => {
    const [first = '', second = '', third = ''] = await report(3);
    const id = await ask();
    await db.transaction(async (connection) => {
      await eraseBatch(connection, [second]);
      await share();
      expect(await madeOf(id)).toEqual([first]);
    });
    await db.query(sql`update replays set ready_at = null`);
    while ((await share()).hasWorked);
    expect(await madeOf(id)).toEqual([first, third]);
    await db.transaction((connection) => eraseBatch(connection, [third]));
    expect(await countStatuses(db, endpoint.id)).toEqual({ queued: 1, discarded: 1 });
  });

  test('a dead letter of which an attempt is under way is skipped, and counted so', async () => {
    await seedDelivery(db, endpoint, { status: 'pending', leasedSeconds: 60 });
    const id = await ask({ selection: 'failed' });
    await share();
    expect(await read(id)).toMatchObject({ rows_done: 0, rows_skipped: 1, state: 'completed' });
  });

  test('the deletion of its endpoint waits for a share, discards what it made, and ends it', async () => {
    await report(300);
    const id = await ask();
    const { promise: opened, resolve: open } = hold();
    const slow: Database = {
      ...db,
      transaction: (work, given) =>
        db.transaction(async (connection) => {
          const done = await work(connection);
          await opened;
          return done;
        }, given),
    };
    const made = share(slow);
    await expect.poll(() => db.query(isHeld)).toHaveLength(1);
    const deleted = db.transaction(async (connection) => {
      await cancelReplaysOf(connection, endpoint.id);
      return discardOfEndpoint(connection, endpoint.id, 1000);
    });
    await untilLockWaits(db, 1);
    open();
    await made;
    expect(await deleted).toBe(250);
    expect(await read(id)).toMatchObject({ state: 'cancelled', error: 'Its endpoint was deleted' });
    expect((await share()).hasWorked).toBe(false);
  });

  test('what a replay made is forgotten like any delivery, and its incident with the last', async () => {
    const [incident = ''] = await report(1);
    const id = await ask();
    await share();
    const signal = new AbortController().signal;
    const age = (days: number) =>
      db.query(sql`
        update incidents set created_at = now() - make_interval(days => ${days})`);
    await age(31);
    await forgetHistory(db, { days: 30, incidentDays: 0 }, signal);
    expect(await db.query(sql`select from incidents where id = ${incident}`)).toHaveLength(1);
    await db.query(sql`
      update deliveries set status = 'delivered', next_attempt_at = null,
        created_at = now() - interval '31 days', finished_at = now() - interval '31 days'`);
    await forgetHistory(db, { days: 30, incidentDays: 0 }, signal);
    expect(await madeOf(id)).toEqual([]);
    expect(await db.query(sql`select from incidents where id = ${incident}`)).toEqual([]);
  });

  test('what is forgotten before its turn is told, also after it was changed', async () => {
    await report(300);
    await db.query(sql`update incidents set created_at = created_at - interval '10 days'`);
    await report(2);
    const from = new Date(Date.now() - 20 * 86_400_000).toISOString();
    const id = await ask({ from });
    await share();
    expect(await read(id)).toMatchObject({ rows_done: 250, error: null });
    await forgetHistory(db, { days: 7, incidentDays: 0 }, new AbortController().signal);
    await runShare(db, { ...options, settleMillis: 60_000 });
    await changePaced(db, replayTable, id, { state: 'running' });
    await share();
    expect(await read(id)).toMatchObject({
      ...{ state: 'completed', rows_done: 252 },
      error: expect.stringMatching(/^What was reported before .* is left alone/),
    });
    await db.query(sql`delete from delivery_memory`);
  });

  test('what a restore has paused tells no fault once it goes on', async () => {
    const ids = await report(300);
    const id = await ask();
    await share();
    await db.query(sql`update replays set state = 'paused', error = ${restoredText}`);
    expect(await read(id)).toMatchObject({
      state: 'paused',
      error: expect.stringMatching('restored'),
    });
    await changePaced(db, replayTable, id, { rate: null });
    expect(await read(id)).toMatchObject({
      state: 'paused',
      error: expect.stringMatching('restored'),
    });
    await changePaced(db, replayTable, id, { state: 'running' });
    await share();
    expect(await read(id)).toMatchObject({
      state: 'completed',
      rows_done: ids.length,
      error: null,
    });
  });

  test('what was forgotten under a shorter setting is not taken for missed under a longer one', async () => {
    await report(1);
    await db.query(sql`update incidents set created_at = now() - interval '10 days'`);
    await forgetHistory(db, { days: 7, incidentDays: 0 }, new AbortController().signal);
    await db.query(sql`
      insert into incidents (id, tenant, type, occurred_at, body, created_at)
      values ('inc_kept', 'T', 'incident.created', now(), '{}', now() - interval '8 days')`);
    const id = await ask();
    await share();
    expect(await madeOf(id)).toEqual([]);
    expect((await read(id))?.state).toBe('completed');
    await db.query(sql`delete from delivery_memory`);
  });
});
