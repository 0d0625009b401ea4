import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { countPurgedSoon, purgeOld } from './purge-old.ts';
import {
  clearQueue,
  findWrongCounts,
  jobParts,
  seedDeliveries,
  seedEndpoint,
  workOff,
} from './testing/seed.ts';

const db = useTestDatabase();
const day = 86_400;
const isOnHold = async (_db: unknown, tenant: string) => tenant === 'HELD';
const old = { days: 30, options: { maxAttempts: 8, isOnHold } };
const audited: unknown[] = [];
const audit = async (_db: unknown, name: unknown, act: { action: string }) =>
  void audited.push([name, act.action]);
const purge = (days = 30) =>
  db.transaction((connection) => purgeOld(connection, { ...old, days, audit }));
const runAll = () => workOff(db, { ...jobParts, audit, isOnHold });
const countBy = async (status: string) => {
  const rows = await db.query<{ id: string }>(
    sql`select id from deliveries where status = ${status} order by id`,
  );
  return rows.map(({ id }) => id);
};

let ids: Record<'old' | 'soon' | 'young' | 'pending' | 'held', string[]>;
beforeEach(async () => {
  await clearQueue(db);
  audited.length = 0;
  const endpoint = await seedEndpoint(db);
  const held = await seedEndpoint(db, { tenant: 'HELD' });
  const seed = (days: number, more = {}) => ({ secondsAgo: days * day, ...more });
  ids = {
    old: await seedDeliveries(db, endpoint, 3, seed(31)),
    soon: await seedDeliveries(db, endpoint, 2, seed(29.5)),
    young: await seedDeliveries(db, endpoint, 1, seed(1)),
    pending: await seedDeliveries(db, endpoint, 1, seed(40, { status: 'pending' })),
    held: await seedDeliveries(db, held, 1, seed(40)),
  };
});

test('only what was abandoned so long ago is purged, and nothing of a tenant on hold', async () => {
  await purge();
  await runAll();
  expect(await countBy('discarded')).toEqual(ids.old.toSorted());
  expect(await countBy('pending')).toEqual(ids.pending);
  expect(await findWrongCounts(db)).toEqual([]);
  expect(audited).toEqual([
    ['svcctl', 'purge_job.create'],
    ['svcctl', 'purge_job.end'],
  ]);
});

test('a day has one such job, and none where there is nothing to purge or nobody asked for it', async () => {
  await purge(0);
  await purge(41);
  expect(audited).toEqual([]);
  await purge();
  await runAll();
  await purge(29);
  await runAll();
  expect(await countBy('discarded')).toEqual(ids.old.toSorted());
  await db.query(sql`update dead_letter_jobs set created_at = created_at - interval '1 day'`);
  await purge(29);
  await runAll();
  expect(await countBy('discarded')).toEqual([...ids.old, ...ids.soon].toSorted());
});

test('what will be purged within a day is counted within reach', async () => {
  expect(await countPurgedSoon(db, null, old)).toBe(5);
  expect(await countPurgedSoon(db, ['T'], old)).toBe(5);
  expect(await countPurgedSoon(db, ['HELD'], old)).toBe(0);
  expect(await countPurgedSoon(db, null, { ...old, days: 0 })).toBe(0);
});
