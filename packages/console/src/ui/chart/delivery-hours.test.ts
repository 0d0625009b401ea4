import { expect, it } from 'vitest';
import { barsOfHours } from './delivery-hours.ts';

it('names hours by their beginning', () => {
  const hours = {
    from: '2026-02-28T23:00:00.000000Z',
    delivered: [1, 2],
    failed: [3, 4],
    abandoned: [5, 6],
  };
  expect(barsOfHours(hours, 'utc')).toEqual([
    { name: '2026-02-28 23:00', parts: [1, 3, 5] },
    { name: '2026-03-01 00:00', parts: [2, 4, 6] },
  ]);
});
