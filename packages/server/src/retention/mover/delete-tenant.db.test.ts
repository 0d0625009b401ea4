import { unlink } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { deleteTenant } from './delete-tenant.ts';
import type { MoverContext } from './move.ts';
import { removeObjects } from './run-move.ts';
import { at, dieAt, killPoints } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();
beforeAll(async () => {
  // Everything before today may go.
  await mover.db.query(sql`update retention_policies set delete_days = 1 where tenant = '*'`);
});

const days = ['2001-03-30', '2001-03-31', '2001-04-01', '2001-04-02'];
const never = new AbortController().signal;

function remove(tenant: string, lastDay: string, more: Partial<MoverContext> = {}) {
  return deleteTenant(mover.context(more), { tenant, lastDay, runId: null, signal: never });
}

/** Two days cold in one segment, one cold in another, the last hot, and late hot records on the first. */
async function seed(tenant: string): Promise<void> {
  await addRecords(mover.db, makeRecords(tenant, { days: days.slice(0, 2) }));
  await mover.move(tenant, days[1] ?? '');
  await addRecords(mover.db, makeRecords(tenant, { days: days.slice(2, 3) }));
  await mover.move(tenant, days[2] ?? '');
  await addRecords(mover.db, makeRecords(tenant, { days: days.slice(3) }));
  const late = makeRecords(tenant, { days: days.slice(0, 1), prefix: 'late', perDay: 2 });
  await addRecords(mover.db, late);
}

/** What the tenant's counters must be when only these days are left. */
async function expectOnly(tenant: string, kept: readonly string[]): Promise<void> {
  expect(await differences(mover, tenant)).toEqual([]);
  const found = await totals(mover, tenant);
  expect([...new Set(found.days.map(({ day }) => day))]).toEqual(kept);
  const copy = `${tenant}-kept-${kept.length}`;
  if (kept.length === 0) {
    expect(found).toEqual({
      days: [],
      months: [],
      stores: [],
      tenantDays: [],
      tenantMonths: [],
      tenants: [],
    });
    return;
  }
  // The digest covers the tenant's name: all else is that of a tenant that never had more.
  await addRecords(mover.db, makeRecords(copy, { days: kept }));
  const plain = (rows: object[]) => rows.map((row) => ({ ...row, digest: '' }));
  const wanted = await totals(mover, copy);
  for (const level of ['days', 'months', 'stores', 'tenants'] as const) {
    expect(plain(found[level]), level).toEqual(plain(wanted[level]));
  }
}

test('a segment that goes whole is not read, so that a lost object keeps nothing from being deleted', async () => {
  await seed('lost');
  const [key = ''] = (await objectKeys(mover)).filter((each) => each.includes('tenant=lost/'));
  await unlink(mover.store.pathOf(key) ?? '');
  expect(await remove('lost', '2001-03-31')).toMatchObject({ deletedCount: 24, failedMoves: 0 });
  await expectOnly('lost', ['2001-04-01', '2001-04-02']);
});

test('a policy that keeps the days refuses the deletion in the switch and nothing is gone', async () => {
  await seed('kept');
  const before = await totals(mover, 'kept');
  await seedPolicy(mover.db, { tenant: 'kept', hotDays: 3, deleteDays: 20_000 });
  expect(await remove('kept', '2001-03-31')).toMatchObject({
    deletedCount: 0,
    failedMoves: 0,
    isBusy: false,
  });
  expect((await journal(mover, 'kept')).at(-1)).toMatchObject({
    kind: 'delete',
    state: 'failed',
    error_code: 'not_due',
  });
  expect(await totals(mover, 'kept')).toEqual(before);
  expect(await differences(mover, 'kept')).toEqual([]);
});

test('a hold set while it copies keeps everything', async () => {
  await seed('held');
  const before = await totals(mover, 'held');
  const hold = () =>
    seedPolicy(mover.db, { tenant: 'held', hotDays: 3, deleteDays: 1, hold: true });
  const outcome = await remove('held', '2001-03-30', at('verified after', hold));
  expect(outcome).toMatchObject({ deletedCount: 0, failedMoves: 0 });
  expect((await journal(mover, 'held')).at(-1)).toMatchObject({ error_code: 'tenant_on_hold' });
  expect(await totals(mover, 'held')).toEqual(before);
});

test('a tenant that another mover holds is busy', async () => {
  await seed('busy');
  const session = await mover.db.openSession();
  await session.query(sql`select pg_advisory_lock(${advisoryLocks.moves}, hashtext('busy'))`);
  expect(await remove('busy', '2001-03-30')).toMatchObject({ deletedCount: 0, isBusy: true });
  await session.close();
});

test.each([
  ['the first day, out of the middle of nothing', '2001-03-30', 14, days.slice(1)],
  ['whole segments', '2001-03-31', 24, days.slice(2)],
  ['all cold days', '2001-04-01', 34, days.slice(3)],
  ['everything', '2001-04-02', 44, []],
  ['nothing', '2001-03-29', 0, null],
])('deletes %s', async (name, lastDay, count, kept) => {
  const tenant = `days ${name}`;
  await seed(tenant);
  const before = await totals(mover, tenant);
  const keysBefore = await objectKeys(mover);
  expect(await remove(tenant, lastDay)).toMatchObject({
    deletedCount: count,
    failedMoves: 0,
    isBusy: false,
  });
  if (kept === null) expect(await totals(mover, tenant)).toEqual(before);
  else await expectOnly(tenant, kept);
  await removeObjects(mover.context(), never);
  const live = await mover.db.query<{ object_key: string }>(sql`select object_key from segments`);
  const keys = await objectKeys(mover);
  expect(keys).toEqual(live.map((row) => row.object_key).sort());
  if (kept === null) expect(keys).toEqual(keysBefore);
  expect((await journal(mover, tenant)).map(({ state }) => state)).not.toContain('switched');
});

test('one move deletes 50,000 days of stores at most, as all of them are held in memory', async () => {
  // Counters alone: nothing lies on these days.
  await mover.db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at, cold_count)
    select 'wide', 'store-' || store, date '2001-03-01' + day, 1, 1, 1, now(), now(), 1
    from generate_series(1, 6000) store cross join generate_series(0, 9) day`);
  await remove('wide', '2001-04-02');
  expect(await journal(mover, 'wide')).toMatchObject([
    { kind: 'delete', first_day: '2001-03-01', last_day: '2001-03-08' },
    { kind: 'delete', first_day: '2001-03-09', last_day: '2001-03-10' },
  ]);
});

test('a deletion whose objects wait for their removal is told of once', async () => {
  await seed('once');
  const grace = { graceSeconds: 3600 };
  expect(await remove('once', '2001-03-31', grace)).toMatchObject({ deletedCount: 24 });
  expect((await journal(mover, 'once')).map(({ state }) => state)).toContain('switched');
  expect(await mover.move('once', '2001-04-02', grace)).toMatchObject({ deletedCount: 0 });
  expect(await remove('once', '2001-03-31', grace)).toMatchObject({ deletedCount: 0 });
});

test.each(killPoints)('killed at %s, the next one finishes it', async (point) => {
  const tenant = `kill ${point}`;
  await seed(tenant);
  await expect(remove(tenant, '2001-03-30', dieAt(point))).rejects.toThrow('killed');
  expect(await differences(mover, tenant)).toEqual([]);
  const isSwitched = point === 'switched after' || point === 'removed before';
  expect(await remove(tenant, '2001-03-30')).toMatchObject({ deletedCount: isSwitched ? 0 : 14 });
  await expectOnly(tenant, days.slice(1));
  await removeObjects(mover.context(), never);
  expect((await journal(mover, tenant)).at(-1)).toMatchObject({ kind: 'delete', state: 'removed' });
});

test('late records of a deleted day that come while it copies go with it', async () => {
  await seed('late');
  const late = makeRecords('late', { days: days.slice(0, 1), stores: ['NEW'], prefix: 'x' });
  await remove(
    'late',
    '2001-03-30',
    at('copied after', () => addRecords(mover.db, late)),
  );
  await expectOnly('late', days.slice(1));
});
