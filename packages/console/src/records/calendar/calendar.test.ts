import { expect, it } from 'vitest';
import { emptyMonths } from './calendar.tsx';

const months = ['2001-01', '2001-02', '2001-03', '2001-04', '2001-05', '2001-06', '2001-07'];
const rows = new Map([
  ['2001-01-31', { count: 5 }],
  ['2001-03-01', { count: 2 }],
  ['2001-05-01', { count: 0 }],
]);

it('finds the months without records that follow on one another', () => {
  expect([...emptyMonths(months, rows, null)]).toEqual([...months.slice(3)]);
  const range = { from: '2001-05-30', to: '2001-05-31' };
  expect([...emptyMonths(months, rows, range)]).toEqual(['2001-06', '2001-07']);
});

it('finds none before anything was read', () => {
  expect(emptyMonths(months, new Map(), null).size).toBe(0);
});
