import { expect, test } from 'vitest';
import { createGate } from '../../kernel/gate.ts';
import { isSmall, tenantsAtOnce } from './move.ts';
import { moveTenant } from './move-tenant.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences } from './testing/truth.ts';

const mover = useTestMover();

const day = '2001-03-01';

/**
 * Moves a day of tenants at once, as a run does. Returns which moves were under way at the same time. None goes on
 * before all are planned, and so many under way.
 */
async function moveAll(tenants: readonly string[], { atOnce = 1 } = {}): Promise<string[][]> {
  const underWay = new Set<string>();
  const seen: string[][] = [];
  let waiting = tenants.length;
  let mostUnderWay = 0;
  const context = mover.context({
    turns: createGate(tenantsAtOnce),
    async onTransition(to, when, { tenant }) {
      if (to === 'planned') waiting -= 1;
      if (to === 'copied' && when === 'before') {
        underWay.add(tenant);
        mostUnderWay = Math.max(mostUnderWay, underWay.size);
        // One that sees the other may be done before the other looks, which then goes by what was.
        await expect.poll(() => waiting === 0 && mostUnderWay >= atOnce).toBe(true);
      }
      seen.push([...underWay].sort());
      if (to === 'removed' && when === 'after') underWay.delete(tenant);
    },
  });
  const session = await mover.db.openSession();
  const { signal } = new AbortController();
  const outcomes = await Promise.all(
    tenants.map((tenant) =>
      moveTenant(context, { tenant, lastDay: day, runId: null, signal, session }),
    ),
  );
  await session.close();
  for (const [n, tenant] of tenants.entries()) {
    expect(outcomes[n]).toMatchObject({ failedMoves: 0, isBusy: false });
    expect(await differences(mover, tenant)).toEqual([]);
  }
  return seen;
}

test('small moves of several tenants go on side by side, a large one alone', async () => {
  for (const tenant of ['A', 'B']) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
  }
  const text = JSON.stringify({ text: 'x'.repeat(200_000) });
  const large = makeRecords('L', { days: [day], stores: ['S'], perDay: 24 });
  await addRecords(
    mover.db,
    large.map((record) => ({ ...record, enrichment: text })),
  );
  const seen = await moveAll(['A', 'L', 'B']);
  expect(seen).toContainEqual(['L']);
  expect(seen.filter((names) => names.includes('L') && names.length > 1)).toEqual([]);
  for (const tenant of ['C', 'D']) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
  }
  expect(await moveAll(['C', 'D'], { atOnce: 2 })).toContainEqual(['C', 'D']);
});

test('a move of few records that are large is not small', () => {
  expect(isSmall([{ count: 29, bytes: 10_000 }])).toBe(true);
  expect(isSmall([{ count: 100_000, bytes: 10_000 }])).toBe(false);
  expect(isSmall([{ count: 2, bytes: 20 * 2 ** 20 }])).toBe(false);
});
