import { expect, test } from 'vitest';
import { quartersOf } from './day-choices.tsx';

test('offers the eight newest quarters of the months that there are', () => {
  expect(quartersOf(['2000-11', '2001-01', '2001-02', '2026-11'])).toEqual([
    ...['2000-Q4', '2001-Q1', '2026-Q4'],
  ]);
  const months = Array.from({ length: 40 }, (_, at) =>
    new Date(Date.UTC(1998, at, 1)).toISOString().slice(0, 7),
  );
  const quarters = quartersOf(months);
  expect([quarters.length, quarters[0], quarters.at(-1)]).toEqual([8, '1999-Q3', '2001-Q2']);
});
