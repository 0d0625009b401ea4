import { expect, test } from 'vitest';
import { quarterOf } from '../kernel/day.ts';
import { checkDays, spellQuarter, wholeMonths } from './slice.ts';

test.each([
  [{ month: '2026-03', from: '2026-03-01', to: '2026-03-02' }, 'either --month or'],
  [{ from: '2026-03-01' }, 'need each other'],
  [{ to: '2026-03-01' }, 'need each other'],
  [{ month: '2026-13' }, '--month: "2026-13" is not a month'],
  [{ from: '2026-02-30', to: '2026-03-01' }, '--from: "2026-02-30" is not a date'],
  [{ from: '2026-03-01', to: '01.04.2026' }, '--to: "01.04.2026" is not a date'],
  [{ from: '2026-03-02', to: '2026-03-01' }, '--from lies after --to'],
])('%j is refused', (days, message) => {
  expect(() => checkDays(days)).toThrow(message);
});

test.each([
  [{ month: '2026-03' }, ['2026-03']],
  [{ from: '2001-01-01', to: '2001-03-31' }, ['2001-01', '2001-02', '2001-03']],
  [{ from: '2023-12-01', to: '2024-02-29' }, ['2023-12', '2024-01', '2024-02']],
  [{ from: '2024-02-01', to: '2024-02-28' }, null],
  [{ from: '2001-01-02', to: '2001-01-31' }, null],
  [{}, null],
])('%j covers the months %j as a whole', (days, months) => {
  expect(wholeMonths(days)).toEqual(months);
});

test.each([
  ['2001-Q1', '2001-01-01', '2001-03-31'],
  ['2024q2', '2024-04-01', '2024-06-30'],
  ['2026-q4', '2026-10-01', '2026-12-31'],
])('the quarter %s is from %s to %s', (quarter, from, to) => {
  expect(spellQuarter({ tenant: 'TX', quarter })).toEqual({ tenant: 'TX', quarter, from, to });
  expect(spellQuarter({ quarter: quarterOf(to.slice(0, 7)) })).toMatchObject({ from, to });
});

test.each([
  [{ quarter: '2001-Q5' }, '"2001-Q5" is not a quarter such as 2026-Q1'],
  [{ quarter: '2001-Q1', month: '2001-01' }, 'either --quarter, --month, or'],
  [{ quarter: '2001-Q1', to: '2001-01-01' }, 'either --quarter, --month, or'],
])('%j is refused', (given, message) => {
  expect(() => spellQuarter(given)).toThrow(message);
});
