import { expect, it } from 'vitest';
import { timeLabels } from './chart/scale.ts';
import { monthsBetween } from './days.ts';
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

it('breaks the axis over a year without records, and not over less', () => {
  const years = barsOf([sum('2001-01', 0, 5), sum('2001-12', 1, 0), sum('2026-11', 3, 2)], false);
  expect(years).toHaveLength(14);
  expect(years.at(-2)).toEqual({ name: '2002-01 … 2026-10', parts: [], isBreak: true });
  expect(timeLabels(years.map(({ name }) => name)).map(({ text }) => text)).not.toContain(
    '2002-01 … 2026-10',
  );
  const many = [...years.map(({ name }) => name), ...monthsBetween('2026-12', '2029-06')];
  expect(timeLabels(many).map(({ text }) => text)).toEqual([
    '2001',
    '2026',
    '2027',
    '2028',
    '2029',
  ]);
});
