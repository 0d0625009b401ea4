import { writeFile } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import type { TestDatabase } from '../../test/database.ts';
import { untilLockWaits } from '../../test/one-server.ts';
import { addTag, freezeVersion } from '../records/versions/testing/freeze-version.ts';
import { adoptOrphan } from './adopt-orphan.ts';
import type { AdoptOrphanRequest } from './contract.ts';
import { eraseContextOf, testRequest } from './mover/testing/eraser.ts';
import { addRecords, makeRecords, useTestMover } from './mover/testing/test-mover.ts';
import { differences, objectKeys, totals } from './mover/testing/truth.ts';
import { removeOrphans } from './objects.ts';
import type { RetentionOptions } from './store.ts';
import { recountSums } from './verify/counter-queries.ts';

const mover = useTestMover();

const [first, second] = ['2001-03-30', '2001-03-31'] as const;

const adopt = (object_key: string, more: Partial<AdoptOrphanRequest> = {}, actor = testActor) =>
  adoptOrphan(eraseContextOf(mover), { object_key, ...more }, { actor, request: testRequest });

/** Two days in segments of their own, of which the database then forgets the first, as one that was set back. */
async function seed(tenant: string): Promise<{ key: string; before: unknown }> {
  for (const day of [first, second]) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
    await mover.move(tenant, day);
  }
  const before = await totals(mover, tenant);
  const [gone] = await mover.db.query<{ id: string; key: string }>(sql`
    delete from segments where tenant = ${tenant} and first_day = ${first}
    returning id, object_key as key`);
  await mover.db.query(sql`
    delete from segment_days where tenant = ${tenant} and segment_id = ${gone?.id}`);
  await mover.db.query(sql`delete from leaf_days where tenant = ${tenant} and day = ${first}`);
  await mover.db.transaction((connection) => recountSums(connection, tenant));
  // What remembers the object is the journal of this database, which another one has not.
  await mover.db.query(sql`delete from move_segments where segment_id = ${gone?.id}`);
  return { key: gone?.key ?? '', before };
}

test.each(['back', `lang-${'漢'.repeat(100)}`])(
  'the segment of %s that nobody knows comes back with its records and counters, by what its content proves',
  async (tenant) => {
    const { key, before } = await seed(tenant);
    const dry = await adopt(key, { dry_run: true });
    expect(dry).toMatchObject({ dry_run: true, tenant, object_key: key, adopted: { count: 10 } });
    expect(await mover.db.query(sql`select from segments where object_key = ${key}`)).toEqual([]);
    const done = await adopt(key);
    expect(done).toEqual({ ...dry, dry_run: false });
    expect(await totals(mover, tenant)).toEqual(before);
    expect(await differences(mover, tenant)).toEqual([]);
    const entries = await mover.db.query(
      sql`select action, after from audit_log where tenant = ${tenant} order by at desc limit 1`,
    );
    expect(entries).toMatchObject([
      { action: 'retention.orphans.adopt', after: { object_key: key, count: 10 } },
    ]);
    // It is known now.
    await expect(adopt(key)).rejects.toMatchObject({ code: 'segment_not_found' });
  },
);

test('what is taken back while others are removed stays', async () => {
  const keys = [(await seed('removed')).key, (await seed('saved')).key];
  const [removed = '', saved = ''] = keys;
  const context = eraseContextOf(mover);
  const store = {
    ...mover.store,
    async remove(key: string) {
      await mover.store.remove(key);
      if (key === removed) await adopt(saved);
    },
  };
  const options = { ...context, store: { store, fence: mover.fence } } as unknown;
  const act = { actor: testActor, request: testRequest, keys };
  expect(await removeOrphans(mover.db, options as RetentionOptions, act)).toEqual({
    removed: [removed],
  });
  expect(await differences(mover, 'saved')).toEqual([]);
});

test('records of its days that are being stored are waited for, and keep it from being taken back', async () => {
  const { key } = await seed('raced');
  let taking: Promise<unknown> | undefined;
  await mover.db.transaction(async (connection) => {
    const inside: TestDatabase = { ...mover.db, transaction: (work) => work(connection) };
    await addRecords(inside, makeRecords('raced', { days: [first], prefix: 'hot', perDay: 1 }));
    taking = adopt(key);
    await Promise.race([untilLockWaits(mover.db), taking]);
  });
  await expect(taking).rejects.toMatchObject({ code: 'orphan_refused' });
  expect(await differences(mover, 'raced')).toEqual([]);
});

test('what has records already, or was frozen without them, is refused, and so is what proves nothing', async () => {
  const { key } = await seed('taken');
  const refused = (why: string) => ({
    code: 'orphan_refused',
    detail: expect.stringContaining(why),
  });
  await expect(adopt(key, {}, { ...testActor, tenants: ['taken'] })).rejects.toMatchObject({
    code: 'scope_missing',
  });
  // A version has whole days, of all stores that had records.
  const others = makeRecords('taken', { days: [first], perDay: 1 });
  await addRecords(
    mover.db,
    others.map((record) => ({ ...record, store: `other-${record.store}` })),
  );
  await addTag(mover.db, 'taken', { from: first, to: second });
  await freezeVersion(mover.db, 'taken');
  await expect(adopt(key)).rejects.toMatchObject(refused('was frozen without'));
  await mover.db.query(sql`delete from dataset_version_windows where tenant = 'taken'`);
  await mover.db.query(sql`delete from dataset_versions where tenant = 'taken'`);
  await mover.db.query(sql`
    insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before, requested_by, token_id)
    values ('taken', 'exp_1', 'csv', '{}', '{}', 'a', '{}', now(), 'test', 'tok_1')`);
  await expect(adopt(key)).rejects.toMatchObject(refused('exports of its tenant are under way'));
  await mover.db.query(sql`update exports set state = 'completed' where tenant = 'taken'`);
  await addRecords(mover.db, makeRecords('taken', { days: [first], prefix: 'hot', perDay: 1 }));
  await expect(adopt(key)).rejects.toMatchObject(refused(`such as ${first}`));
  await expect(adopt(key)).rejects.toMatchObject(refused('svcctl records import FILE'));
  // The objects of another tenant, or none at all.
  const [own = ''] = (await objectKeys(mover)).filter((each) => each.includes('tenant=taken/'));
  const elsewhere = key.replace('tenant=taken/', 'tenant=other/').replace('seg_', 'seg_x');
  await mover.store.put(elsewhere, mover.store.pathOf(own) ?? '');
  await expect(adopt(elsewhere)).rejects.toMatchObject(refused('the folder of another tenant'));
  const path = mover.store.pathOf(key) ?? '';
  await writeFile(path, 'no segment');
  await expect(adopt(key)).rejects.toMatchObject(refused('cannot be read'));
  await expect(adopt('exports/tenant=taken/exp_1/1')).rejects.toMatchObject({
    code: 'segment_not_found',
  });
});
