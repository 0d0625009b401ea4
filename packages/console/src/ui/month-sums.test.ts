import { expect, it } from 'vitest';
import { barsOf } from './month-sums.tsx';

const sum = (month: string, hot: number, cold: number) => ({
  month,
  hot_count: hot,
  hot_bytes: hot * 100,
  cold_count: cold,
  cold_bytes: cold * 100,
});

it('has a bar for each month, cold below hot, also for months without records', () => {
  const sums = [sum('2000-11', 0, 5), sum('2001-01', 3, 2)];
  expect(barsOf(sums, false)).toEqual([
    { name: '2000-11', parts: [5, 0] },
    { name: '2000-12', parts: [0, 0] },
    { name: '2001-01', parts: [2, 3] },
  ]);
  expect(barsOf(sums, true).at(-1)).toEqual({ name: '2001-01', parts: [200, 300] });
  expect(barsOf([], false)).toEqual([]);
});
