import { expect, it } from 'vitest';
import type { VersionDiff } from './versions.contract.ts';
import { addDiffs } from './view.ts';

const some = (count: number, first: number) => ({
  count,
  records: Array.from({ length: count }, (_, n) => ({
    store: 'DFW',
    occurred_at: '2001-03-01T00:00:00.000000Z',
    event_id: `e${first + n}`,
  })),
});
const page = (more: Partial<VersionDiff>): VersionDiff => ({
  added: some(0, 0),
  gone: some(0, 0),
  moved: null,
  stretches_done: 1,
  stretches_total: 2,
  next_cursor: 'c',
  ...more,
});

it('adds up stretches, and keeps the first records in their order', () => {
  const joined = addDiffs(
    page({ added: some(15, 0), moved: some(1, 0) }),
    page({ added: some(10, 15), gone: some(2, 0), moved: some(2, 1), next_cursor: null }),
    20,
  );
  expect(joined).toMatchObject({ gone: { count: 2 }, moved: { count: 3 }, next_cursor: null });
  expect(joined.added.count).toBe(25);
  expect(joined.added.records.map(({ event_id }) => event_id)).toEqual(
    Array.from({ length: 20 }, (_, n) => `e${n}`),
  );
  expect(addDiffs(page({}), page({ moved: some(1, 0) }), 20).moved).toBeNull();
});
