import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { onGone } from '../../app/retention.ts';
import { createLog } from '../../platform/log.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { countRecords } from '../../records/versions/count-records.ts';
import { countNow } from '../../records/versions/testing/count-now.ts';
import { addTag, freezeVersion } from '../../records/versions/testing/freeze-version.ts';
import { findReceipt } from './erase-queries.ts';
import { eraseOnce } from './testing/eraser.ts';
import { dieAt, type Point } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';

const mover = useTestMover();

const [first, second, third] = ['2001-03-30', '2001-03-31', '2001-04-01'] as const;

/** Two stores, five records a day each; the first two days are cold. */
async function seed(tenant: string): Promise<void> {
  await addRecords(mover.db, makeRecords(tenant, { days: [first, second] }));
  await mover.move(tenant, second);
  await addRecords(mover.db, makeRecords(tenant, { days: [third] }));
}

const erase: typeof eraseOnce = (from, request, more) =>
  eraseOnce(from, request, { onGone, ...more });

async function versionOf(tenant: string) {
  const rows = await mover.db.query(sql`
    select state, change, count, current_count, error from dataset_versions where tenant = ${tenant}`);
  return rows[0];
}

async function tagsOf(tenant: string) {
  return mover.db.query(
    sql`select store, first_day, last_day from tags where tenant = ${tenant} order by 1, 2`,
  );
}

const count = () => countNow({ ...mover, dir: mover.context().spoolDir });

test('a dry run tells what would change, and changes nothing', async () => {
  await seed('dry');
  await addTag(mover.db, 'dry', { from: first, to: second });
  const { id } = await freezeVersion(mover.db, 'dry');
  await count();
  const request = { tenant: 'dry', from: first, to: third };
  const planned = await erase(mover, { ...request, dry_run: true });
  expect(planned).toMatchObject({ tags_removed: 1, versions_changed: 1, exports_removed: 0 });
  expect(await versionOf('dry')).toMatchObject({ state: 'ready', change: null });
  expect(await tagsOf('dry')).toHaveLength(1);
  const named = { versions: [{ id, name: 'v1' }], exports: [] };
  expect(planned).toMatchObject(named);
  const receipt = await erase(mover, request);
  expect(receipt).toMatchObject({ tags_removed: 1, versions_changed: 1, ...named });
  // One of the release before names none.
  await mover.db.query(sql`
    update erasures set receipt = receipt - 'versions' - 'exports' - 'counts' - 'counts_ended'`);
  const stored = await findReceipt(mover.db, receipt.id ?? '', null);
  expect(stored).toMatchObject({ versions_changed: 1, versions: [], exports: [], counts: [] });
});

test('a version that lost records is counted again, and its tags stay', async () => {
  await seed('ids');
  await addTag(mover.db, 'ids', { from: first, to: third });
  await freezeVersion(mover.db, 'ids');
  await count();
  const receipt = await erase(mover, { tenant: 'ids', event_ids: ['e-1'] });
  expect(receipt).toMatchObject({ tags_removed: 0, versions_changed: 1 });
  expect(await versionOf('ids')).toMatchObject({ state: 'counting', change: 'erased' });
  expect(await tagsOf('ids')).toHaveLength(1);
  expect(await count()).toEqual([]);
  expect(await versionOf('ids')).toEqual({
    state: 'ready',
    change: 'erased',
    count: 30,
    current_count: 24,
    error: null,
  });
});

test('a version elsewhere is left alone', async () => {
  await seed('elsewhere');
  await addTag(mover.db, 'elsewhere', { store: 'DFW', from: first, to: second });
  await freezeVersion(mover.db, 'elsewhere');
  await count();
  const receipt = await erase(mover, { tenant: 'elsewhere', store: 'ORD', from: first, to: third });
  expect(receipt).toMatchObject({ tags_removed: 0, versions_changed: 0 });
  expect(await versionOf('elsewhere')).toMatchObject({ state: 'ready', change: null });
});

test('a version whose days lost only records that came later has not changed', async () => {
  await seed('later');
  await addTag(mover.db, 'later');
  await freezeVersion(mover.db, 'later');
  await addRecords(mover.db, makeRecords('later', { days: [third], prefix: 'late' }));
  await erase(mover, { tenant: 'later', event_ids: ['late-1', 'late-2'] });
  expect(await versionOf('later')).toMatchObject({ state: 'counting', change: 'erased' });
  await count();
  expect(await versionOf('later')).toEqual({
    state: 'ready',
    change: null,
    count: 30,
    current_count: 30,
    error: null,
  });
});

test('tags wholly on erased days go, and a version of which nothing can be left', async () => {
  await seed('days');
  await addTag(mover.db, 'days', { from: first, to: second });
  await addTag(mover.db, 'days', { store: 'DFW', from: second, to: second });
  await freezeVersion(mover.db, 'days');
  await addTag(mover.db, 'days', { store: 'ORD', from: second, to: third });
  await addTag(mover.db, 'days', { store: 'ORD' });
  const receipt = await erase(mover, { tenant: 'days', from: first, to: second });
  expect(receipt).toMatchObject({ tags_removed: 2, versions_changed: 1 });
  expect(await versionOf('days')).toBeUndefined();
  expect(
    await mover.db.query(sql`select ordinal from dataset_version_windows where tenant = 'days'`),
  ).toEqual([]);
  expect(await tagsOf('days')).toEqual([
    { store: 'ORD', first_day: second, last_day: third },
    { store: 'ORD', first_day: null, last_day: null },
  ]);
});

test('with all days of a store go all tags of it', async () => {
  await seed('store');
  await addTag(mover.db, 'store', { store: 'ORD' });
  await addTag(mover.db, 'store', { store: 'ORD', from: third });
  await addTag(mover.db, 'store', { store: 'ORD', from: '1960-01-01', to: third });
  await addTag(mover.db, 'store', { store: 'DFW', to: first });
  await freezeVersion(mover.db, 'store');
  const receipt = await erase(mover, { tenant: 'store', store: 'ORD' });
  expect(receipt).toMatchObject({ tags_removed: 3, versions_changed: 1 });
  await count();
  expect(await versionOf('store')).toMatchObject({ state: 'ready', count: 20, current_count: 5 });
});

test('a count that is under way during an erasure counts on without what is erased', async () => {
  const tenant = 'counted';
  await seed(tenant);
  const { db, duckdb, store } = mover;
  const dir = join(mover.context().spoolDir, 'reader');
  const objects = createObjectReader(store, { dir, maxBytes: 2 ** 30, log: createLog('silent') });
  const tools = { db, cold: { objects, duckdb }, cursorKey: Buffer.alloc(32, 3) };
  const page = (cursor?: string) =>
    countRecords(
      tools,
      testActor,
      { tenant, where: 'n < 4', ...(cursor && { cursor }) },
      { rows: 10, bytes: 2 ** 40, days: 4 },
    );
  let { count: counted, next_cursor } = await page();
  expect(counted).toBe(8);
  // One record of each day of both tiers, and a whole day of a store.
  await erase(mover, { tenant, event_ids: ['e-1'] });
  await erase(mover, { tenant, store: 'ORD', from: third, to: third });
  while (next_cursor !== null) {
    const next = await page(next_cursor);
    counted += next.count;
    next_cursor = next.next_cursor;
  }
  await objects.close();
  // Four store-days were still to be counted: three of them have three left that fit, and the last has none.
  expect(counted).toBe(8 + 3 * 3);
});

test.each<Point>(['planned after', 'verified after', 'switched before', 'switched after'])(
  'killed at %s, the version is told once the erasure goes on',
  async (point) => {
    const tenant = `kill ${point}`;
    await seed(tenant);
    await addTag(mover.db, tenant, { from: first, to: third });
    await freezeVersion(mover.db, tenant);
    await count();
    const request = { tenant, from: first, to: first };
    await expect(erase(mover, request, dieAt(point))).rejects.toThrow('killed');
    const isSwitched = point === 'switched after';
    expect(await versionOf(tenant)).toMatchObject({
      state: isSwitched ? 'counting' : 'ready',
      change: isSwitched ? 'erased' : null,
    });
    await mover.move(tenant, first, { onGone });
    expect(await versionOf(tenant)).toMatchObject({ state: 'counting', change: 'erased' });
    const effects = await mover.db.query(
      sql`select effects from moves where tenant = ${tenant} and kind = 'erase'`,
    );
    expect(effects).toEqual([
      {
        effects: expect.objectContaining({ tagsRemoved: 0, versionsChanged: 1, exportsRemoved: 0 }),
      },
    ]);
    await count();
    expect(await versionOf(tenant)).toMatchObject({ state: 'ready', current_count: 20 });
  },
);
