import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import { removeObjects } from './run-move.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();

const signal = new AbortController().signal;
const days = Array.from({ length: 8 }, (_, n) => `2001-03-0${1 + n}`);

async function triplesOf(tenant: string) {
  return mover.db.query(sql`
    select store, day, sum(count) as count, sum(bytes) as bytes,
      mod(sum(digest), 18446744073709551616) as digest
    from segment_days where tenant = ${tenant} group by 1, 2 order by 1, 2`);
}

async function keysOf(tenant: string) {
  return (await objectKeys(mover)).filter((key) => key.startsWith(`records/tenant=${tenant}/`));
}

test('eight small segments become one; the old objects go after the grace only', async () => {
  await addRecords(mover.db, makeRecords('TX', { days }));
  const before = await totals(mover, 'TX');
  for (const day of days.slice(0, 7)) await mover.move('TX', day);
  expect(await mover.db.query(sql`select id from segments where tenant = 'TX'`)).toHaveLength(7);
  const old = await keysOf('TX');
  await mover.move('TX', '2001-03-08', { graceSeconds: 3600 });
  expect(await mover.db.query(sql`select id from segments where tenant = 'TX'`)).toHaveLength(1);
  expect(await totals(mover, 'TX')).toEqual(before);
  expect(await differences(mover, 'TX')).toEqual([]);
  expect((await journal(mover, 'TX')).at(-1)).toMatchObject({
    kind: 'compact',
    state: 'switched',
    first_day: days[0],
    last_day: days[7],
    source_count: 80,
  });

  expect(await removeObjects(mover, signal)).toBe(0);
  expect(await keysOf('TX')).toHaveLength(9);
  await mover.db.query(sql`update object_removals set remove_after = now() where tenant = 'TX'`);
  expect(await removeObjects(mover, signal)).toBe(8);
  const left = await keysOf('TX');
  expect(left).toHaveLength(1);
  expect(old).not.toContain(left[0]);
  expect((await journal(mover, 'TX')).at(-1)).toMatchObject({ state: 'removed' });
  expect(await differences(mover, 'TX')).toEqual([]);
});

test('two segments with records of one day become one', async () => {
  await addRecords(mover.db, makeRecords('AA', { days: days.slice(0, 1) }));
  await mover.move('AA', '2001-03-01');
  await addRecords(mover.db, makeRecords('AA', { days: days.slice(0, 1), prefix: 'late' }));
  const before = await totals(mover, 'AA');
  await mover.move('AA', '2001-03-01');
  expect(await mover.db.query(sql`select count from segments where tenant = 'AA'`)).toEqual([
    { count: 20 },
  ]);
  expect(await triplesOf('AA')).toHaveLength(2);
  expect(await totals(mover, 'AA')).toEqual(before);
  expect(await differences(mover, 'AA')).toEqual([]);
});

test('a damaged segment is not merged', async () => {
  await addRecords(mover.db, makeRecords('BB', { days }));
  for (const day of days.slice(0, 7)) await mover.move('BB', day);
  const [key] = await keysOf('BB');
  await mover.store.remove(key ?? '');
  const segments = await mover.db.query(
    sql`select id from segments where tenant = 'BB' order by id`,
  );
  expect(await mover.move('BB', '2001-03-08')).toMatchObject({ movedCount: 10, failedMoves: 1 });
  expect((await journal(mover, 'BB')).at(-1)).toMatchObject({
    kind: 'compact',
    state: 'failed',
    failed_in: 'planned',
    error_code: 'segment_damaged',
  });
  const after = await mover.db.query<{ id: string }>(
    sql`select id from segments where tenant = 'BB' order by id`,
  );
  expect(after).toEqual(expect.arrayContaining(segments));
  expect(after).toHaveLength(8);
});

test('an object that is live is never removed', async () => {
  await addRecords(mover.db, makeRecords('CC', { days }));
  await mover.move('CC', '2001-03-08');
  await removeObjects(mover, signal);
  await mover.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    select tenant, object_key, 'mov_x', now() from segments where tenant = 'CC'`);
  expect(await removeObjects(mover, signal)).toBe(0);
  expect(await keysOf('CC')).toHaveLength(1);
});

test('an object that cannot be removed keeps no other from going, and is told of', async () => {
  const keys = Array.from({ length: 205 }, (_, n) => `records/tenant=TX/stuck-${n}`);
  await mover.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    select 'TX', key, 'mov_1', now() from unnest(${keys}::text[]) as given(key)`);
  const asked: string[] = [];
  const isStuck = (key: string) => /stuck-(0|100|204)$/.test(key);
  const store: ObjectStore = {
    ...mover.store,
    async remove(key) {
      asked.push(key);
      if (isStuck(key)) throw new AppError('cold_tier_unavailable', { detail: key });
    },
  };
  const left = () =>
    mover.db.query<{ key: string }>(
      sql`select object_key as key from object_removals where move_id = 'mov_1' order by 1`,
    );
  await expect(removeObjects({ ...mover, store }, signal)).rejects.toThrow('stuck-');
  expect([...asked].sort()).toEqual([...keys].sort());
  expect((await left()).map(({ key }) => key)).toEqual(keys.filter(isStuck));
  expect(await removeObjects(mover, signal)).toBe(3);
  expect(await left()).toEqual([]);
});
