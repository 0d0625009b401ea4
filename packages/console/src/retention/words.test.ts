import { expect, test } from 'vitest';
import { daysText, ratioText, stepsOf } from './words.ts';

const at = '2026-01-01T00:00:00Z';
const times = {
  planned_at: at,
  copied_at: null,
  verified_at: null,
  switched_at: null,
  removed_at: null,
  failed_in: null,
};
const states = (move: Parameters<typeof stepsOf>[0]) => stepsOf(move).map(({ state }) => state);

test('fills the transitions that a move has reached', () => {
  const move = { ...times, state: 'copied', copied_at: at } as const;
  expect(states(move)).toEqual(['reached', 'reached', 'open', 'open', 'open']);
});

test('passes the transitions that a deletion has no use for', () => {
  const move = { ...times, state: 'removed', switched_at: at, removed_at: at } as const;
  expect(states(move)).toEqual(['reached', 'passed', 'passed', 'reached', 'reached']);
});

test('marks the transition that a failed move did not reach', () => {
  const move = { ...times, state: 'failed', copied_at: at, failed_in: 'copied' } as const;
  expect(states(move)).toEqual(['reached', 'reached', 'failed', 'open', 'open']);
});

test.each([
  ['2001-03-01', '2001-03-01', '2001-03-01'],
  ['2001-03-01', '2001-04-30', '2001-03-01 … 04-30'],
  ['2000-12-01', '2001-01-31', '2000-12-01 … 2001-01-31'],
])('says %s to %s as %s', (first, last, text) => {
  expect(daysText(first, last)).toBe(text);
});

test.each([
  [1_440_000_000, 36_000_000, '40 ×'],
  [3_290, 1_000, '3.2 ×'],
  [0, 10, '–'],
])('says how much smaller %i in %i is', (bytes, stored, text) => {
  expect(ratioText(bytes, stored)).toBe(text);
});
