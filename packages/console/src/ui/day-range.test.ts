import { expect, test } from 'vitest';
import { isRangeName, rangeNames, rangeText, readRange, readTimes, within } from './day-range.ts';

const today = new Date('2026-01-15T23:30:00Z');

test.each([
  ['today', '2026-01-15', '2026-01-15'],
  [' Yesterday ', '2026-01-14', '2026-01-14'],
  ['30d', '2025-12-17', '2026-01-15'],
  ['1d', '2026-01-15', '2026-01-15'],
  ['7d', '2026-01-09', '2026-01-15'],
  ['2001', '2001-01-01', '2001-12-31'],
  ['2000-02', '2000-02-01', '2000-02-29'],
  ['2001-q1', '2001-01-01', '2001-03-31'],
  ['2001 Q4', '2001-10-01', '2001-12-31'],
  ['2001-03-05', '2001-03-05', '2001-03-05'],
  ['2001-03-05..2001-03-07', '2001-03-05', '2001-03-07'],
  ['2001-03-05 .. 2001-03-07', '2001-03-05', '2001-03-07'],
  ['2001-03-05..', '2001-03-05', '2999-12-31'],
  ['..2001-03-05', '1970-01-01', '2001-03-05'],
  ['24h', '2026-01-14', '2026-01-15'],
  ['month', '2026-01-01', '2026-01-31'],
  ['quarter', '2026-01-01', '2026-03-31'],
])('%s is the days from %s to %s', (text, from, to) => {
  expect(readRange(text, today)).toEqual({ from, to });
});

test.each([
  '',
  'tomorrow',
  '2001-13',
  '2001-q5',
  '2001-02-30',
  '2001-03-07..2001-03-05',
  '..',
  '2001-03-05..2001-02-30',
  '0099',
  '9999d',
  'constructor',
])('%s is no range', (text) => {
  expect(readRange(text, today)).toBeNull();
});

test.each([
  ['2026-11-25T10:00/12:00', '2026-11-25T10:00:00Z', '2026-11-25T12:00:00Z'],
  [' 2026-11-25 10:00/12:30 ', '2026-11-25T10:00:00Z', '2026-11-25T12:30:00Z'],
  ['2026-11-25t22:00/2026-11-26t02:00', '2026-11-25T22:00:00Z', '2026-11-26T02:00:00Z'],
])('%s are the hours from %s to %s', (text, from, to) => {
  expect(readTimes(text)).toEqual({ from, to });
  expect(readTimes(rangeText({ from, to }))).toEqual({ from, to });
});

test.each([
  '',
  '2026-11-25',
  '2026-11-25T12:00/10:00',
  '2026-11-25T10:00/10:00',
  '2026-11-25T10:00/25:00',
  '2026-11-25T10:00/24:00',
  '2026-02-30T10:00/12:00',
  '2026-11-25T10:00/2026-11-31T12:00',
])('%s are no hours', (text) => {
  expect(readTimes(text)).toBeNull();
});

test('a name is known as a whole, and nothing else is', () => {
  expect(rangeNames.every(isRangeName)).toBe(true);
  expect(rangeNames.filter((name) => readRange(name, today) === null)).toEqual([]);
  expect(['2001', '9d', 'last', 'toString'].some(isRangeName)).toBe(false);
});

test.each([
  [{}, ''],
  [{ from: '2001-03-05' }, '2001-03-05..'],
  [{ to: '2001-03-05' }, '..2001-03-05'],
  [{ from: '2001-03-05', to: '2001-03-05' }, '2001-03-05'],
  [{ from: '2001-02-01', to: '2001-02-28' }, '2001-02'],
  [{ from: '2001-01-01', to: '2001-03-31' }, '2001-Q1'],
  [{ from: '2000-01-01', to: '2000-12-31' }, '2000'],
  [{ from: '2001-01-01', to: '2001-02-28' }, '2001-01-01..2001-02-28'],
])('the days %j are written %s, and read back', (days, text) => {
  expect(rangeText(days)).toBe(text);
  if (text === '') return;
  expect(readRange(text, today)).toEqual({ from: '1970-01-01', to: '2999-12-31', ...days });
});

test('only days that may be chosen are', () => {
  const march = { from: '2001-03-01', to: '2001-03-31' };
  expect(within(readRange('2001-q1', today), march)).toEqual(march);
  expect(within(readRange('2001-02', today), march)).toBeNull();
  expect(within(null, march)).toBeNull();
});
