import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { holdPace } from '../../../test/held-pace.ts';
import { moveTenant } from './move-tenant.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();

const days = ['2001-03-01', '2001-03-02', '2001-03-05'];

test('moves the days up to the last one, and keeps all counters as they were', async () => {
  await addRecords(mover.db, makeRecords('TX', { days }));
  const before = await totals(mover, 'TX');
  const outcome = await mover.move('TX', '2001-03-02');
  expect(outcome).toEqual({
    movedCount: 20,
    movedBytes: expect.any(Number),
    deletedCount: 0,
    failedMoves: 0,
    isBusy: false,
  });
  expect(await totals(mover, 'TX')).toEqual(before);
  expect(await differences(mover, 'TX')).toEqual([]);
  expect(await journal(mover, 'TX')).toMatchObject([
    {
      kind: 'move',
      state: 'removed',
      first_day: '2001-03-01',
      last_day: '2001-03-02',
      source_count: 20,
    },
  ]);
  const hot = await mover.db.query(
    sql`select distinct (occurred_at at time zone 'UTC')::date::text as day from enrichment_records`,
  );
  expect(hot).toEqual([{ day: '2001-03-05' }]);
  expect((await objectKeys(mover))[0]).toMatch(
    /^records\/tenant=TX\/2001-03-01_2001-03-02_seg_\w+\.parquet$/,
  );
});

test('a tenant without due days has nothing to do', async () => {
  expect(await mover.move('nobody', '2001-03-02')).toMatchObject({
    movedCount: 0,
    failedMoves: 0,
    isBusy: false,
  });
  expect(await journal(mover, 'nobody')).toEqual([]);
});

test('moves what is left with a later last day, and late records of days that are cold', async () => {
  const late = makeRecords('TX', { days: days.slice(0, 1), prefix: 'late', perDay: 2 });
  await addRecords(mover.db, late);
  const before = await totals(mover, 'TX');
  expect(await mover.move('TX', '2001-03-31')).toMatchObject({ movedCount: 14, failedMoves: 0 });
  expect(await totals(mover, 'TX')).toEqual(before);
  expect(await differences(mover, 'TX')).toEqual([]);
});

test('the planner knows the days of many stores as soon as they have moved', async () => {
  const stores = Array.from({ length: 1000 }, (_, n) => `s${n}`);
  await addRecords(mover.db, makeRecords('wide', { days: days.slice(0, 1), stores, perDay: 1 }));
  await mover.move('wide', '2001-03-31');
  const known = await mover.db.query(sql`
    select relname from pg_class
    where relname in ('segment_days', 'leaf_days') and reltuples >= 1000 order by relname`);
  expect(known).toEqual([{ relname: 'leaf_days' }, { relname: 'segment_days' }]);
});

test('names that are awkward in paths and in SQL are moved and merged', async () => {
  const tenant = `it's *[a]?%é\uFEFF 😀`;
  const stores = ['\uFEFF"x"', "o'hara", '*'];
  const late = makeRecords(tenant, { days, stores, prefix: 'late' });
  await addRecords(mover.db, makeRecords(tenant, { days, stores }));
  await mover.move(tenant, '2001-03-31');
  await addRecords(mover.db, late);
  const before = await totals(mover, tenant);
  // Both segments have records of the same days, and become one.
  expect(await mover.move(tenant, '2001-03-31')).toMatchObject({ movedCount: 45, failedMoves: 0 });
  expect((await journal(mover, tenant)).map((row) => row.kind)).toEqual([
    'move',
    'move',
    'compact',
  ]);
  expect(await totals(mover, tenant)).toEqual(before);
  expect(await differences(mover, tenant)).toEqual([]);
});

test('the data that was moved is what was stored, to the letter', async () => {
  await addRecords(mover.db, makeRecords('same', { days }));
  const columns = sql`store, event_id, kind, source, model, confidence, bytes, enrichment::text as enrichment`;
  const hot = await mover.db.query(sql`
    select ${columns}, (extract(epoch from occurred_at) * 1000000)::bigint::text as occurred_us,
      (extract(epoch from recorded_at) * 1000000)::bigint::text as recorded_us
    from enrichment_records where tenant = 'same' order by store, occurred_at, enrichment_records.event_id`);
  await mover.move('same', '2001-03-31');
  const [segment] = await mover.db.query<{ object_key: string }>(
    sql`select object_key from segments where tenant = 'same'`,
  );
  const path = mover.store.pathOf(segment?.object_key ?? '') ?? '';
  const cold = await mover.duckdb.run(`
    select store, event_id, kind, source, model, confidence, bytes, enrichment,
      epoch_us(occurred_at)::varchar as occurred_us, epoch_us(recorded_at)::varchar as recorded_us
    from '${path}'`);
  expect(cold.map((row) => ({ ...row, bytes: Number(row.bytes) }))).toEqual(hot);
});

test('a mover that gives way to clients goes on when they are served', async () => {
  await addRecords(mover.db, makeRecords('waits', { days }));
  const { pace, resting, letGo } = holdPace();
  const moving = mover.move('waits', '2001-03-31', { pace });
  await resting;
  expect(await journal(mover, 'waits')).toMatchObject([{ state: 'planned' }]);
  letGo();
  expect(await moving).toMatchObject({ movedCount: 30, failedMoves: 0 });
  expect(await differences(mover, 'waits')).toEqual([]);
});

test('a mover gives way before each step of a move, and after each object that it reads back', async () => {
  await addRecords(mover.db, makeRecords('counts', { days }));
  const states: unknown[] = [];
  const rest = async () => {
    const [move] = await journal(mover, 'counts');
    states.push(move?.state);
  };
  await mover.move('counts', '2001-03-31', { pace: { begin: () => rest } });
  expect(new Set(states.slice(0, -4))).toEqual(new Set(['planned']));
  expect(states.slice(-4)).toEqual(['copied', 'copied', 'verified', 'switched']);
});

test('a stop ends a mover that gives way to clients, and the next one finishes its move', async () => {
  await addRecords(mover.db, makeRecords('stopped', { days }));
  const before = await totals(mover, 'stopped');
  const { pace, resting } = holdPace();
  const stopping = new AbortController();
  const moving = moveTenant(mover.context({ pace }), {
    tenant: 'stopped',
    lastDay: '2001-03-31',
    runId: null,
    signal: stopping.signal,
  });
  await resting;
  stopping.abort();
  await expect(moving).rejects.toThrow();
  expect(await mover.move('stopped', '2001-03-31')).toMatchObject({
    movedCount: 30,
    failedMoves: 0,
  });
  expect(await totals(mover, 'stopped')).toEqual(before);
  expect(await differences(mover, 'stopped')).toEqual([]);
});
