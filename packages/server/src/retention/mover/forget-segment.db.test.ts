import { unlink, writeFile } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { onGone } from '../../app/retention.ts';
import { addTag, freezeVersion } from '../../records/versions/testing/freeze-version.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { auditOf, eraseOnce, forgetOnce } from './testing/eraser.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();

const [first, second] = ['2001-03-30', '2001-03-31'] as const;

/** Two segments of a day each, two stores and five records a day, and late hot records on the first day. */
async function seed(tenant: string): Promise<string[]> {
  for (const day of [first, second]) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
    await mover.move(tenant, day);
  }
  await addRecords(mover.db, makeRecords(tenant, { days: [first], prefix: 'late', perDay: 1 }));
  const keys = (await objectKeys(mover)).filter((key) => key.includes(`tenant=${tenant}/`));
  expect(keys).toHaveLength(2);
  return keys;
}

const pathOf = (key: string) => mover.store.pathOf(key) ?? '';
const daysOf = async (tenant: string) =>
  (await totals(mover, tenant)).tenantDays.map(({ day, count }) => ({ day, count }));

test('no object of which all is well is given up, and none that nobody knows', async () => {
  const [key = ''] = await seed('whole');
  const before = await totals(mover, 'whole');
  await expect(forgetOnce(mover, { object_key: key })).rejects.toMatchObject({
    code: 'segment_whole',
  });
  await expect(forgetOnce(mover, { object_key: `${key}x` })).rejects.toMatchObject({
    code: 'segment_not_found',
  });
  await unlink(pathOf(key));
  const actor = { ...testActor, tenants: ['mine'] };
  await expect(forgetOnce(mover, { object_key: key }, { actor })).rejects.toMatchObject({
    code: 'segment_not_found',
  });
  expect(await totals(mover, 'whole')).toEqual(before);
});

test.each(['missing', 'damaged'])(
  'what a %s object held leaves catalogue and counters',
  async (how) => {
    const [key = ''] = await seed(how);
    await addTag(mover.db, how, { from: first, to: first });
    await freezeVersion(mover.db, how);
    if (how === 'missing') await unlink(pathOf(key));
    else await writeFile(pathOf(key), 'no segment');
    const before = await totals(mover, how);
    const dry = await forgetOnce(mover, { object_key: key, dry_run: true }, { onGone });
    expect(await totals(mover, how)).toEqual(before);
    const done = await forgetOnce(mover, { object_key: key }, { onGone });
    expect(done).toEqual({ ...dry, id: done.id, dry_run: false });
    expect(done).toMatchObject({
      tenant: how,
      lost: { count: 10 },
      versions_changed: 1,
      days: [
        { store: 'DFW', day: first, count: 5 },
        { store: 'ORD', day: first, count: 5 },
      ],
    });
    expect(done.problem).toMatch(how === 'missing' ? /no object/ : /has 10 bytes/);
    // What is hot on the same day stays, and so does its tag.
    expect(await daysOf(how)).toEqual([
      { day: first, count: 2 },
      { day: second, count: 10 },
    ]);
    expect(await differences(mover, how)).toEqual([]);
    expect((await journal(mover, how)).at(-1)).toMatchObject({ kind: 'forget' });
    expect((await auditOf(mover, how)).at(-1)).toMatchObject({
      action: 'retention.forget',
      target: done.id,
      after: { object_key: key, count: 10 },
    });
    const tags = await mover.db.query(sql`select from tags where tenant = ${how}`);
    expect(tags).toHaveLength(1);
    // Nothing trips over it any more.
    await eraseOnce(mover, { tenant: how, event_ids: ['e-1'] });
    expect(await differences(mover, how)).toEqual([]);
  },
);

test('a tenant on hold loses nothing, and a store that is not this database’s neither', async () => {
  const [key = ''] = await seed('held');
  await unlink(pathOf(key));
  const before = await totals(mover, 'held');
  const other = {
    fence: {
      advance: () => Promise.reject(new Error('fenced')),
      assertOwn: () => Promise.reject(new Error('fenced')),
    },
  };
  await expect(forgetOnce(mover, { object_key: key }, other)).rejects.toThrow('fenced');
  await seedPolicy(mover.db, { tenant: 'held', hotDays: 3, hold: true });
  await expect(forgetOnce(mover, { object_key: key })).rejects.toMatchObject({
    code: 'tenant_on_hold',
  });
  expect(await totals(mover, 'held')).toEqual(before);
  expect((await journal(mover, 'held')).filter(({ kind }) => kind === 'forget')).toEqual([]);
});
