import { expect, it } from 'vitest';
import { barsOfHours, barsOfTiers } from './charts.tsx';

it('keeps what was hot and cold over days at whose end nobody looked', () => {
  const days = {
    from: '2026-02-27',
    count: [0, 0, 0, 0],
    hot_count: [null, 5, null, 7],
    cold_count: [null, 10, null, 9],
  };
  expect(barsOfTiers(days)).toEqual([
    { name: '2026-02-27', parts: [0, 0] },
    { name: '2026-02-28', parts: [10, 5] },
    { name: '2026-03-01', parts: [10, 5] },
    { name: '2026-03-02', parts: [9, 7] },
  ]);
});

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
