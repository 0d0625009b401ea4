import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createDuckDb } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import {
  fromFileSystem,
  type ObjectStore,
  storeUnavailable,
} from '../../platform/objects/objects.ts';
import { createStoreWait } from '../../platform/objects/store-wait.ts';
import { isHeldLock } from '../../platform/postgres/locks.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { countFailedTenants } from '../runs/queries.ts';
import { planMove } from './move-hot-days.ts';
import { moveTenant } from './move-tenant.ts';
import { runMove } from './run-move.ts';
import { eraseOnce } from './testing/eraser.ts';
import { at, dieAt, killPoints, type Point } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, hotCount, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();

const days = ['2001-03-01', '2001-03-02'];
const lastDay = '2001-03-02';

test.each<Point>([...killPoints, 'removed after'])(
  'killed at %s, another process finishes it',
  async (point) => {
    const tenant = `kill ${point}`;
    await addRecords(mover.db, makeRecords(tenant, { days }));
    const before = await totals(mover, tenant);
    await expect(mover.move(tenant, lastDay, dieAt(point))).rejects.toThrow('killed');
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await totals(mover, tenant)).toEqual(before);
    expect(await mover.move(tenant, lastDay)).toMatchObject({
      movedCount: point === 'removed after' ? 0 : 20,
      failedMoves: 0,
    });
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await totals(mover, tenant)).toEqual(before);
    expect(await journal(mover, tenant)).toMatchObject([{ state: 'removed', object_count: 20 }]);
    expect(await hotCount(mover, tenant)).toBe(0);
  },
);

test('a process that was taken for dead changes nothing any more', async () => {
  await addRecords(mover.db, makeRecords('zombie', { days }));
  // As if its lock had ended and another process had begun and gone.
  const takeOver = () =>
    mover.db.query(sql`update moves set runner = 'another' where tenant = 'zombie'`);
  const late = mover.move('zombie', lastDay, at('copied after', takeOver));
  await expect(late).rejects.toMatchObject({ code: 'tenant_busy' });
  expect(await journal(mover, 'zombie')).toMatchObject([{ state: 'copied' }]);
  expect(await mover.move('zombie', lastDay)).toMatchObject({ movedCount: 20 });
  expect(await differences(mover, 'zombie')).toEqual([]);
});

test('a move that begins anew writes under another key and leaves the old object to be removed', async () => {
  await addRecords(mover.db, makeRecords('anew', { days }));
  await expect(mover.move('anew', lastDay, dieAt('copied before'))).rejects.toThrow('killed');
  const [old] = (await objectKeys(mover)).filter((key) => key.startsWith('records/tenant=anew/'));
  expect(await mover.move('anew', lastDay)).toMatchObject({ movedCount: 20 });
  const segments = await mover.db.query(sql`select object_key from segments where tenant = 'anew'`);
  expect(segments).not.toContainEqual({ object_key: old });
  const removals = await mover.db.query(
    sql`select object_key from object_removals where tenant = 'anew'`,
  );
  expect(removals).toEqual([{ object_key: old }]);
});

test('of two movers of a tenant one is busy', async () => {
  await addRecords(mover.db, makeRecords('race', { days }));
  let other: unknown;
  const moveBeside = async () => {
    other = await mover.move('race', lastDay);
  };
  const first = await mover.move('race', lastDay, at('copied after', moveBeside));
  expect(other).toMatchObject({ movedCount: 0, movedBytes: 0, failedMoves: 0, isBusy: true });
  expect(first).toMatchObject({ movedCount: 20, isBusy: false });
  expect(await journal(mover, 'race')).toHaveLength(1);
});

test('records that come between copy and switch stay hot, count, and move with the next run', async () => {
  await addRecords(mover.db, makeRecords('late', { days }));
  const come = () =>
    addRecords(mover.db, makeRecords('late', { days: ['2001-03-02'], prefix: 'late' }));
  await mover.move('late', lastDay, at('copied after', come));
  expect(await differences(mover, 'late')).toEqual([]);
  const hot = await mover.db.query<{ event_id: string }>(
    sql`select event_id from enrichment_records where tenant = 'late' and store = 'DFW' order by 1`,
  );
  expect(hot.map((row) => row.event_id)).toEqual([0, 1, 2, 3, 4].map((n) => `late-${n}`));
  const [total] = (await totals(mover, 'late')).tenants;
  expect(total).toMatchObject({ count: 30 });
  expect(await mover.move('late', lastDay)).toMatchObject({ movedCount: 10, failedMoves: 0 });
  expect(await differences(mover, 'late')).toEqual([]);
  expect((await totals(mover, 'late')).tenants).toEqual([total]);
});

test.each([
  [
    'a flipped byte',
    (bytes: Buffer) => bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] ?? 0) ^ 1),
  ],
  ['a lost end', (bytes: Buffer) => bytes.subarray(0, -100)],
  ['nothing', () => null],
])(
  'an object with %s fails the move; its source is kept, the next run moves it',
  async (name, harm) => {
    const tenant = `harm ${name}`;
    await addRecords(mover.db, makeRecords(tenant, { days }));
    const before = await totals(mover, tenant);
    const harmObject = async () => {
      const [row] = await mover.db.query<{ object_key: string }>(
        sql`select object_key from move_segments where tenant = ${tenant}`,
      );
      const key = row?.object_key ?? '';
      const harmed = harm(await readFile(mover.store.pathOf(key) ?? ''));
      if (harmed === null) await mover.store.remove(key);
      else await writeFile(mover.store.pathOf(key) ?? '', harmed);
    };
    const outcome = await mover.move(tenant, lastDay, at('copied after', harmObject));
    expect(outcome).toMatchObject({ movedCount: 0, failedMoves: 1 });
    expect(await journal(mover, tenant)).toMatchObject([
      { state: 'failed', failed_in: 'copied', error_code: 'segment_damaged' },
    ]);
    expect(await differences(mover, tenant)).toEqual([]);
    const [queued] = await mover.db.query(
      sql`select count(*) as count from object_removals where tenant = ${tenant}`,
    );
    expect(queued).toEqual({ count: 1 });
    expect(await mover.move(tenant, lastDay)).toMatchObject({ movedCount: 20, failedMoves: 0 });
    expect(await totals(mover, tenant)).toEqual(before);
  },
);

test.each([
  ['a hold', { hotDays: 0, hold: true }, 'tenant_on_hold'],
  ['a longer policy', { hotDays: 36_500 }, 'not_due'],
])('%s that comes before the switch calls the move off', async (name, policy, code) => {
  const tenant = `called off ${name}`;
  await addRecords(mover.db, makeRecords(tenant, { days }));
  const change = () => seedPolicy(mover.db, { tenant, ...policy });
  const outcome = await mover.move(tenant, lastDay, at('verified after', change));
  expect(outcome).toMatchObject({ movedCount: 0, failedMoves: 0 });
  expect(await journal(mover, tenant)).toMatchObject([
    { state: 'failed', failed_in: 'verified', error_code: code },
  ]);
  expect(await differences(mover, tenant)).toEqual([]);
  expect(await hotCount(mover, tenant)).toBe(20);
});

test('a caller that aborts leaves a move that goes on later', async () => {
  await addRecords(mover.db, makeRecords('abort', { days }));
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error('the service stops'));
  const context = mover.context(at('copied after', stop));
  const job = { tenant: 'abort', lastDay, runId: null };
  await expect(moveTenant(context, { ...job, signal: stopping.signal })).rejects.toThrow(
    'the service stops',
  );
  expect(await mover.move('abort', lastDay)).toMatchObject({ movedCount: 20 });
  expect(await differences(mover, 'abort')).toEqual([]);
});

test('a lost lock ends the work', async () => {
  await addRecords(mover.db, makeRecords('lost', { days }));
  const loseLock = async () => {
    await mover.db.query(sql`select pg_terminate_backend(pid) from pg_locks
      where ${isHeldLock('moves')}`);
    // Until the mover knows.
    await expect.poll(() => mover.move('lost', '1999-01-01')).toMatchObject({ isBusy: false });
  };
  const moving = mover.move('lost', lastDay, at('copied after', loseLock));
  await expect(moving).rejects.toMatchObject({ code: expect.any(String) });
  expect(await mover.move('lost', lastDay)).toMatchObject({ failedMoves: 0 });
  expect(await differences(mover, 'lost')).toEqual([]);
});

test('of two moves of the same records, by a process that did not notice its lost lock, the later one fails', async () => {
  await addRecords(mover.db, makeRecords('twice', { days }));
  const before = await totals(mover, 'twice');
  const [first, second] = [mover.context(), mover.context()];
  const due = { tenant: 'twice', runId: null, after: null, lastDay };
  const slow = await planMove(first, due);
  const fast = await planMove(second, due);
  if (slow === null || fast === null) throw new Error('nothing to move');
  const signal = new AbortController().signal;
  const overtake = () => runMove(second, fast, signal);
  const late = runMove({ ...first, ...at('verified after', overtake) }, slow, signal);
  expect(await late).toMatchObject({ isSwitched: false, isCalledOff: false });
  expect(await journal(mover, 'twice')).toMatchObject([
    { state: 'failed', failed_in: 'verified', error_code: 'source_changed' },
    { state: 'removed' },
  ]);
  expect(await differences(mover, 'twice')).toEqual([]);
  expect(await totals(mover, 'twice')).toEqual(before);
  await addRecords(mover.db, makeRecords('twice', { days, prefix: 'late' }));
  expect(await mover.move('twice', lastDay)).toMatchObject({ movedCount: 20, failedMoves: 0 });
});

test('a store that fails three calls in ten is waited for until everything is moved, and the journal says so', async () => {
  await addRecords(mover.db, makeRecords('slow', { days }));
  const before = await totals(mover, 'slow');
  let calls = 0;
  const maybe = <Result>(call: () => Promise<Result>) => {
    calls += 1;
    return calls % 10 < 3
      ? Promise.reject(storeUnavailable('No object', 'the store says SlowDown'))
      : call();
  };
  const { store: real } = mover;
  const store: ObjectStore = {
    ...real,
    put: (...given) => maybe(() => real.put(...given)),
    get: (...given) => maybe(() => real.get(...given)),
    head: (...given) => maybe(() => real.head(...given)),
  };
  const { signal } = new AbortController();
  const journaled: unknown[] = [];
  const wait = createStoreWait({
    signal,
    note: async () => {},
    sleep: async () => {
      journaled.push(
        ...(await mover.db.query(sql`select state, error_code from moves where tenant = 'slow'`)),
      );
    },
  });
  const job = { tenant: 'slow', lastDay, runId: null, signal, wait };
  calls = 0;
  expect(await moveTenant(mover.context({ store }), job)).toMatchObject({
    movedCount: 20,
    failedMoves: 0,
  });
  expect(journaled.length).toBeGreaterThan(0);
  expect(journaled[0]).toMatchObject({ state: 'planned', error_code: 'store_unavailable' });
  expect(await totals(mover, 'slow')).toEqual(before);
  expect(await differences(mover, 'slow')).toEqual([]);
  const [move] = await mover.db.query(sql`select error_code from moves where tenant = 'slow'`);
  expect(move).toEqual({ error_code: null });
});

/** A store that has room again when told so. */
function fullStore() {
  let isFull = true;
  const error = Object.assign(new Error('ENOSPC: no space left on device'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const store: ObjectStore = {
    ...mover.store,
    put: (...given) =>
      isFull
        ? Promise.reject(fromFileSystem(error, 'The object cannot be written'))
        : mover.store.put(...given),
  };
  return {
    store,
    makeRoom: () => {
      isFull = false;
    },
  };
}

test('a full store ends the run and the move, says so, and the next run moves the days', async () => {
  await addRecords(mover.db, makeRecords('full', { days }));
  const { store, makeRoom } = fullStore();
  const before = await totals(mover, 'full');
  await expect(mover.move('full', lastDay, { store })).rejects.toThrow('no space is left (ENOSPC)');
  expect(await totals(mover, 'full')).toEqual(before);
  const [move] = await mover.db.query(sql`
    select state, failed_in, error_code, error from moves where tenant = 'full'`);
  expect(move).toMatchObject({ state: 'failed', failed_in: 'planned', error_code: 'store_full' });
  expect(move?.error).toContain('Free some space');
  expect(await countFailedTenants(mover.db)).toMatchObject({ storeFull: 1 });
  makeRoom();
  expect(await mover.move('full', lastDay, { store })).toMatchObject({ movedCount: 20 });
  expect(await countFailedTenants(mover.db)).toMatchObject({ storeFull: 0 });
  expect(await differences(mover, 'full')).toEqual([]);
});

test('a folder of its own that cannot be made is told by its name, and the next run moves the days', async () => {
  await addRecords(mover.db, makeRecords('folder', { days }));
  const { spoolDir } = mover.context();
  await symlink(`${spoolDir}-is-not-there`, spoolDir);
  await expect(mover.move('folder', lastDay, { spoolDir })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
    detail: expect.stringContaining(`The move cannot go on in ${spoolDir}`),
  });
  expect(await mover.move('folder', lastDay)).toMatchObject({ movedCount: 20, failedMoves: 0 });
});

test('an erasure that finds the store full says so, stays, and goes on with the next run', async () => {
  await addRecords(mover.db, makeRecords('full-erase', { days }));
  await mover.move('full-erase', lastDay);
  const { store, makeRoom } = fullStore();
  const request = { tenant: 'full-erase', event_ids: ['e-1'] };
  await expect(eraseOnce(mover, request, { store })).rejects.toThrow('no space is left (ENOSPC)');
  const state = () =>
    mover.db.query(sql`
      select state, error_code from moves where tenant = 'full-erase' and kind = 'erase'`);
  expect(await state()).toEqual([{ state: 'planned', error_code: 'store_full' }]);
  expect(await countFailedTenants(mover.db)).toMatchObject({ storeFull: 1 });
  makeRoom();
  await mover.move('full-erase', '1999-12-31', { store });
  expect(await state()).toEqual([
    { state: expect.stringMatching(/switched|removed/), error_code: null },
  ]);
  expect(await differences(mover, 'full-erase')).toEqual([]);
});

test('a move that DuckDB has too little memory for fails, and keeps nothing waiting', async () => {
  await addRecords(mover.db, makeRecords('small', { days }));
  const duckdb = createDuckDb({
    memoryBytes: 2 ** 20,
    threads: 1,
    niceness: 0,
    log: createLog('silent'),
    tempDir: join(mover.context().spoolDir, 'duckdb'),
  });
  expect(await mover.move('small', lastDay, { duckdb })).toMatchObject({ failedMoves: 1 });
  await duckdb.close();
  expect(await journal(mover, 'small')).toMatchObject([
    { state: 'failed', failed_in: 'planned', error_code: 'out_of_memory' },
  ]);
  expect(await mover.move('small', lastDay)).toMatchObject({ movedCount: 20, failedMoves: 0 });
});
