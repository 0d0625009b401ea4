import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { MoveState } from '../contract.ts';
import { planMove } from '../mover/plan-move.ts';
import { removeObjects } from '../mover/remove-objects.ts';
import { runMove } from '../mover/run-move.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
  type TestMover,
} from '../mover/testing/test-mover.ts';
import { differences, totals } from '../mover/testing/truth.ts';

let mover: TestMover;
beforeAll(async () => {
  mover = await startTestMover();
});
afterAll(() => mover.stop());
beforeEach(() => mover.fence.adopt());

const signal = new AbortController().signal;
const days = ['2001-03-01'];
const lastDay = '2001-03-01';
const later = { graceSeconds: 3600 };

/** Dies at an arrow of the merge, or of the move before it, as a process would that is killed there. */
function dieAt(kind: 'move' | 'compact', state: MoveState, when: 'before' | 'after') {
  return {
    ...later,
    onArrow: async (to: MoveState, moment: 'before' | 'after', move: { kind: string }) => {
      if (move.kind === kind && to === state && moment === when) throw new Error('killed');
    },
  };
}

/** A segment, and more records of its day: a run moves them, and merges the two. */
async function prepare(tenant: string): Promise<void> {
  await addRecords(mover.db, makeRecords(tenant, { days }));
  await mover.move(tenant, lastDay, later);
  await addRecords(mover.db, makeRecords(tenant, { days, prefix: 'late' }));
}

/** Removes all that waits for its removal, as if the grace were over. */
async function removeAll(on: TestMover): Promise<number> {
  await on.db.query(sql`update object_removals set remove_after = now()`);
  return removeObjects(on, signal);
}

const points = (['move', 'compact'] as const).flatMap((kind) => [
  { kind, state: 'planned' as const, when: 'after' as const },
  { kind, state: 'copied' as const, when: 'after' as const },
  { kind, state: 'verified' as const, when: 'after' as const },
  { kind, state: 'switched' as const, when: 'before' as const },
  { kind, state: 'switched' as const, when: 'after' as const },
]);

test.each(
  points.flatMap((point) => [
    { ...point, first: 'the original' },
    { ...point, first: 'the clone' },
  ]),
)(
  'cloned when a $kind was killed $when $state: $first goes on, the other stands still',
  async ({ first: name, ...point }) => {
    const tenant = `${point.kind} ${point.when} ${point.state} ${name}`;
    await prepare(tenant);
    const before = await totals(mover, tenant);
    await expect(
      mover.move(tenant, lastDay, dieAt(point.kind, point.state, point.when)),
    ).rejects.toThrow('killed');
    const clone = await startTestMover(mover);
    try {
      const isOriginal = name === 'the original';
      const [first, second] = isOriginal ? [mover, clone] : [clone, mover];
      await first.move(tenant, lastDay, later);
      await expect(second.move(tenant, lastDay, later)).rejects.toMatchObject({
        code: 'store_fenced',
      });
      // What the first has replaced is still there: both read all.
      for (const each of [first, second]) {
        expect(await differences(each, tenant)).toEqual([]);
        expect(await totals(each, tenant)).toEqual(before);
      }
      expect(await removeAll(second)).toBe(0);
      expect(await removeAll(first)).toBeGreaterThan(0);
      expect(await removeAll(second)).toBe(0);
      expect(await differences(first, tenant)).toEqual([]);
      expect(await totals(first, tenant)).toEqual(before);
      const [live] = await first.db.query(
        sql`select count(*) as count from segments where tenant = ${tenant}`,
      );
      expect(live).toEqual({ count: 1 });
    } finally {
      await clone.stop();
    }
  },
);

test('records that only the original has are not lost with the objects of a move that the clone gives up', async () => {
  const tenant = 'in flight';
  await addRecords(mover.db, makeRecords(tenant, { days }));
  const context = mover.context(later);
  await mover.fence.advance();
  // What the tests before have left to remove: below only the move's own object counts.
  await removeAll(mover);
  const move = await planMove(context, { tenant, runId: null, after: null, lastDay });
  if (move === null) throw new Error('nothing is due');
  // The clone knows the token, and the object that the original is about to write.
  const clone = await startTestMover(mover);
  try {
    await addRecords(mover.db, makeRecords(tenant, { days, prefix: 'late' }));
    const before = await totals(mover, tenant);
    const going = {
      ...context,
      onArrow: async (to: MoveState, when: 'before' | 'after') => {
        if (to !== 'verified' || when !== 'after') return;
        // The original is suspended here. The clone gives the move other objects, and removes the first.
        await clone.move(tenant, lastDay, later);
        expect(await removeAll(clone)).toBe(1);
      },
    };
    await expect(runMove(going, move, signal)).rejects.toMatchObject({ code: 'store_fenced' });
    expect(await totals(mover, tenant)).toEqual(before);
    expect(await differences(mover, tenant)).toEqual([]);
    const [hot] = await mover.db.query(
      sql`select count(*) as count from enrichment_records where tenant = ${tenant}`,
    );
    expect(hot).toEqual({ count: 20 });
    expect(await differences(clone, tenant)).toEqual([]);
  } finally {
    await clone.stop();
  }
});
