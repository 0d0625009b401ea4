import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { onGone } from '../../app/retention.ts';
import { countNow } from '../../records/versions/testing/count-now.ts';
import { addTag, freezeVersion } from '../../records/versions/testing/freeze-version.ts';
import { deleteTenant } from './delete-tenant.ts';
import type { MoverContext } from './move.ts';
import { at, dieAt, killPoints } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal } from './testing/truth.ts';

const mover = useTestMover();
beforeAll(async () => {
  await mover.db.query(sql`update retention_policies set delete_days = 1 where tenant = '*'`);
});

const days = ['2001-03-30', '2001-03-31', '2001-04-01', '2001-04-02'];
const [first = '', second = '', third = '', last = ''] = days;
const never = new AbortController().signal;

type More = Partial<MoverContext> & { deleteVersioned?: boolean };

function remove(tenant: string, { deleteVersioned = false, ...more }: More = {}) {
  const context = mover.context({ onGone, ...more });
  const job = { tenant, lastDay: last, runId: null, deleteVersioned, signal: never };
  return deleteTenant(context, job);
}

/** Ten records a day; the first two days are cold in one segment. */
async function seed(tenant: string): Promise<void> {
  await addRecords(mover.db, makeRecords(tenant, { days: days.slice(0, 2) }));
  await mover.move(tenant, second);
  await addRecords(mover.db, makeRecords(tenant, { days: days.slice(2) }));
}

async function daysOf(tenant: string): Promise<string[]> {
  const rows = await mover.db.query<{ day: string }>(
    sql`select distinct day from leaf_days where tenant = ${tenant} order by day`,
  );
  return rows.map(({ day }) => day);
}

async function count(): Promise<void> {
  expect(await countNow({ ...mover, dir: mover.context().spoolDir })).toEqual([]);
}

async function versionOf(tenant: string) {
  const rows = await mover.db.query(sql`
    select state, change, count, current_count, changed_at is not null as is_changed, error
    from dataset_versions where tenant = ${tenant}`);
  return rows[0];
}

test('days of a version stay, of all stores, and all others go around them', async () => {
  await seed('around');
  await addTag(mover.db, 'around', { store: 'DFW', from: second, to: second });
  await freezeVersion(mover.db, 'around');
  const outcome = await remove('around');
  expect(outcome).toMatchObject({ deletedCount: 30, failedMoves: 0, isBusy: false });
  expect(await daysOf('around')).toEqual([second]);
  expect(await journal(mover, 'around')).toMatchObject([
    { kind: 'move' },
    { kind: 'delete', first_day: first, last_day: first },
    { kind: 'delete', first_day: third, last_day: last },
  ]);
  await count();
  const counts = { count: 5, current_count: 5, error: null };
  expect(await versionOf('around')).toEqual({
    ...counts,
    state: 'ready',
    change: null,
    is_changed: false,
  });
  expect(await remove('around')).toMatchObject({ deletedCount: 0 });
  expect(await differences(mover, 'around')).toEqual([]);
});

test('a day of a version that has no records any more parts the days around it', async () => {
  await seed('parted');
  await addTag(mover.db, 'parted', { from: second, to: second });
  await freezeVersion(mover.db, 'parted');
  await mover.db.query(sql`
    update dataset_version_windows set first_day = ${third}::date, until = ${last}::date
    where tenant = 'parted'`);
  await mover.db.query(sql`
    with gone as (delete from enrichment_records where tenant = 'parted'
      and occurred_at >= ${`${third}T00:00:00Z`}::timestamptz and occurred_at < ${`${last}T00:00:00Z`}::timestamptz)
    delete from leaf_days where tenant = 'parted' and day = ${third}::date`);
  expect(await remove('parted')).toMatchObject({ deletedCount: 30, failedMoves: 0 });
  expect(await daysOf('parted')).toEqual([]);
});

test('a version frozen while the deletion copies stops it, and the next run goes around it', async () => {
  await seed('race');
  await addTag(mover.db, 'race', { from: third, to: third });
  const freeze = () => freezeVersion(mover.db, 'race');
  const outcome = await remove('race', at('verified after', freeze, 'delete'));
  expect(outcome).toMatchObject({ deletedCount: 0, failedMoves: 0, isBusy: false });
  expect((await journal(mover, 'race')).at(-1)).toMatchObject({
    state: 'failed',
    error_code: 'kept_by_version',
  });
  expect(await daysOf('race')).toEqual(days);
  expect(await remove('race')).toMatchObject({ deletedCount: 30 });
  expect(await daysOf('race')).toEqual([third]);
});

test('a version that is being frozen while days go waits, and has nothing of them', async () => {
  await seed('waits');
  await addTag(mover.db, 'waits', { from: first, to: last });
  let frozen: Promise<unknown> = Promise.resolve();
  const freeze = async () => {
    frozen = freezeVersion(mover.db, 'waits').catch((error: unknown) => error);
    // It stands behind the deletion.
    await untilLockWaits(mover.db);
  };
  await remove('waits', at('switched before', freeze, 'delete'));
  expect(await frozen).toMatchObject({ code: 'dataset_empty' });
  expect(await daysOf('waits')).toEqual([]);
});

test('whoever tells it to deletes days of versions too, which say so', async () => {
  await seed('told');
  await addTag(mover.db, 'told', { from: second, to: third });
  await freezeVersion(mover.db, 'told');
  await count();
  await addRecords(mover.db, makeRecords('told', { days: ['2001-05-01'] }));
  expect(await remove('told', { deleteVersioned: true })).toMatchObject({ deletedCount: 40 });
  expect(await versionOf('told')).toMatchObject({ state: 'counting', change: 'deleted' });
  await count();
  expect(await versionOf('told')).toEqual({
    state: 'ready',
    change: 'deleted',
    count: 20,
    current_count: 0,
    is_changed: true,
    error: null,
  });
});

test.each(killPoints.filter((point) => point !== 'removed before'))(
  'killed at %s, the next run finishes what was told',
  async (point) => {
    const tenant = `kill ${point}`;
    await seed(tenant);
    await addTag(mover.db, tenant, { from: first, to: second });
    await freezeVersion(mover.db, tenant);
    const killed = remove(tenant, { deleteVersioned: true, ...dieAt(point) });
    await expect(killed).rejects.toThrow('killed');
    const change = point === 'switched after' ? 'deleted' : null;
    expect(await versionOf(tenant)).toMatchObject({ state: 'counting', change });
    await remove(tenant);
    expect(await daysOf(tenant)).toEqual([]);
    await count();
    expect(await versionOf(tenant)).toMatchObject({
      state: 'ready',
      change: 'deleted',
      current_count: 0,
    });
  },
);
