import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { use } from '../../test/use.ts';
import { createLog } from '../platform/log.ts';
import { createStoreWatch } from '../platform/objects/store-watch.ts';
import { planMove } from './mover/move-hot-days.ts';
import { removeObjects, runMove } from './mover/run-move.ts';
import { eraseOnce } from './mover/testing/eraser.ts';
import { at, dieAt, killPoints, type Point } from './mover/testing/points.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
  type TestMover,
} from './mover/testing/test-mover.ts';
import { differences, hotCount, totals } from './mover/testing/truth.ts';
import { adoptStore } from './store.ts';
import { findOrphans, ourFolders } from './verify/find-orphans.ts';

const mover = use(
  () => startTestMover(),
  (own) => own.stop(),
);
beforeEach(() => mover.fence.adopt());

const signal = new AbortController().signal;
const days = ['2001-03-01'];
const lastDay = '2001-03-01';
const later = { graceSeconds: 3600 };

/** A segment, and more records of its day: a run moves them, and merges the two. */
async function prepare(on: TestMover, tenant: string): Promise<void> {
  await addRecords(on.db, makeRecords(tenant, { days }));
  await on.move(tenant, lastDay, later);
  await addRecords(on.db, makeRecords(tenant, { days, prefix: 'late' }));
}

/** Removes all of a tenant that waits for its removal, as if the grace were over. */
async function removeAll(on: TestMover, tenant: string): Promise<number> {
  await on.db.query(sql`update object_removals set remove_after = now() where tenant = ${tenant}`);
  return removeObjects(on, signal);
}

/** Points of the merge, or of the move before it. */
const points = (['move', 'compact'] as const).flatMap((kind) =>
  killPoints
    .filter((point) => !['copied before', 'verified before', 'removed before'].includes(point))
    .map((point) => ({ kind, point })),
);
const tenantOf = ({ kind, point }: (typeof points)[number]) => `${kind} ${point}`;

describe.each(['the original', 'the clone'])(
  'cloned when something was killed, %s goes on, the other stands still:',
  (name) => {
    const original = use(
      () => startTestMover(),
      (own) => own.stop(),
    );
    const before = new Map<string, unknown>();
    const clone = use(
      async () => {
        for (const point of points) {
          const tenant = tenantOf(point);
          await prepare(original, tenant);
          before.set(tenant, await totals(original, tenant));
          const death = dieAt(point.point, point.kind);
          const killed = original.move(tenant, lastDay, { ...later, ...death });
          await expect(killed).rejects.toThrow('killed');
        }
        return startTestMover(original);
      },
      (own) => own.stop(),
    );

    test.each(points)('a $kind at $point', async (point) => {
      const tenant = tenantOf(point);
      const [first, second] = name === 'the original' ? [original, clone] : [clone, original];
      await first.move(tenant, lastDay, later);
      await expect(second.move(tenant, lastDay, later)).rejects.toMatchObject({
        code: 'store_fenced',
      });
      // What the first has replaced is still there: both read all.
      for (const each of [first, second]) {
        expect(await differences(each, tenant)).toEqual([]);
        expect(await totals(each, tenant)).toEqual(before.get(tenant));
      }
      expect(await removeAll(second, tenant)).toBe(0);
      expect(await removeAll(first, tenant)).toBeGreaterThan(0);
      expect(await removeAll(second, tenant)).toBe(0);
      expect(await differences(first, tenant)).toEqual([]);
      expect(await totals(first, tenant)).toEqual(before.get(tenant));
      const [live] = await first.db.query(
        sql`select count(*) as count from segments where tenant = ${tenant}`,
      );
      expect(live).toEqual({ count: 1 });
    });
  },
);

test('records that only the original has are not lost with the objects of a move that the clone gives up', async () => {
  const tenant = 'in flight';
  await addRecords(mover.db, makeRecords(tenant, { days }));
  const context = mover.context(later);
  await mover.fence.advance();
  const move = await planMove(context, { tenant, runId: null, after: null, lastDay });
  if (move === null) throw new Error('nothing is due');
  // The clone knows the token, and the object that the original is about to write.
  const clone = await startTestMover(mover);
  try {
    await addRecords(mover.db, makeRecords(tenant, { days, prefix: 'late' }));
    const before = await totals(mover, tenant);
    // The original is suspended here. The clone gives the move other objects, and removes the first.
    const suspend = at('verified after', async () => {
      await clone.move(tenant, lastDay, later);
      expect(await removeAll(clone, tenant)).toBe(1);
    });
    await expect(runMove({ ...context, ...suspend }, move, signal)).rejects.toMatchObject({
      code: 'store_fenced',
    });
    expect(await totals(mover, tenant)).toEqual(before);
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await hotCount(mover, tenant)).toBe(20);
    expect(await differences(clone, tenant)).toEqual([]);
  } finally {
    await clone.stop();
  }
});

/** As an operator has it taken over. */
async function adopt(on: TestMover): Promise<void> {
  const watch = createStoreWatch({ ...on, log: createLog('silent') });
  const act = { actor: testActor, request: {} as FastifyRequest, audit: async () => {} };
  await adoptStore(on.db, { fence: on.fence, watch, store: on.store }, act);
}

async function keysOf(on: TestMover, tenant: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of on.store.list(`records/tenant=${encodeURIComponent(tenant)}/`)) {
    keys.push(key);
  }
  return keys.sort();
}

async function orphansOf(on: TestMover): Promise<(string | null)[]> {
  const keys: (string | null)[] = [];
  await findOrphans(on.db, on.store, ourFolders, {
    rest: async () => {},
    signal,
    add: (problems) => void keys.push(...problems.map(({ object_key }) => object_key)),
  });
  return keys;
}

test.each<Point>(['copied before', 'copied after', 'verified after'])(
  'the second erases hot records although a move was killed at %s, and writes nothing',
  async (point) => {
    const tenant = `hot-${point.replace(' ', '-')}`;
    await addRecords(mover.db, makeRecords(tenant, { days }));
    const killed = mover.move(tenant, lastDay, { ...later, ...dieAt(point) });
    await expect(killed).rejects.toThrow('killed');
    const clone = await startTestMover(mover);
    try {
      await mover.fence.advance();
      const before = await keysOf(clone, tenant);
      expect(before).toHaveLength(1);
      const scope = { tenant, store: 'DFW', from: lastDay, to: lastDay };
      expect(await eraseOnce(clone, scope)).toMatchObject({ erased: { count: 5 }, cold_count: 0 });
      expect(await keysOf(clone, tenant)).toEqual(before);
      const left = await totals(clone, tenant);
      expect(left).not.toEqual(await totals(mover, tenant));
      // What the move had copied of them does not come back when it goes on.
      await adopt(clone);
      await clone.move(tenant, lastDay, later);
      await clone.move(tenant, lastDay, later);
      expect(await totals(clone, tenant)).toEqual(left);
      expect(await differences(clone, tenant)).toEqual([]);
      expect(await hotCount(clone, tenant)).toBe(0);
    } finally {
      await clone.stop();
    }
  },
);

test('an object that was planned when the two parted, and that the original made live, outlives an adoption', async () => {
  const tenant = 'parted';
  await addRecords(mover.db, makeRecords(tenant, { days }));
  const context = mover.context(later);
  await mover.fence.advance();
  const move = await planMove(context, { tenant, runId: null, after: null, lastDay });
  if (move === null) throw new Error('nothing is due');
  const clone = await startTestMover(mover);
  try {
    await addRecords(mover.db, makeRecords(tenant, { days, prefix: 'only here' }));
    await runMove(context, move, signal);
    const live = await keysOf(mover, tenant);
    expect(live).toHaveLength(1);
    const whole = await totals(mover, tenant);
    await adopt(clone);
    await clone.move(tenant, lastDay, later);
    await removeAll(clone, tenant);
    expect(await keysOf(clone, tenant)).toEqual(expect.arrayContaining(live));
    expect(await orphansOf(clone)).toEqual(expect.arrayContaining(live));
    expect(await totals(mover, tenant)).toEqual(whole);
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await differences(clone, tenant)).toEqual([]);
  } finally {
    await clone.stop();
  }
});

test('who adopts the store while the other one removes loses no object after the one that is under way', async () => {
  const tenant = 'page';
  await prepare(mover, tenant);
  await removeAll(mover, tenant);
  await mover.move(tenant, lastDay, later);
  const clone = await startTestMover(mover);
  try {
    const before = await keysOf(mover, tenant);
    const removed: string[] = [];
    const store = {
      ...mover.store,
      async remove(key: string) {
        await clone.fence.adopt();
        await mover.store.remove(key);
        removed.push(key);
      },
    };
    expect(await removeAll({ ...mover, store }, tenant)).toBe(1);
    const left = before.filter((key) => !removed.includes(key));
    expect(await keysOf(mover, tenant)).toEqual(left);
  } finally {
    await clone.stop();
  }
});
