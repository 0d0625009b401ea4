import { expect, it } from 'vitest';
import { timesOf, withTimes } from './times.ts';

const morning = { from: '2026-11-25T10:00:00Z', to: '2026-11-25T12:00:00Z' };
const night = { from: '2026-11-25T22:00:00Z', to: '2026-11-26T02:00:00Z' };
const ofMorning = 'occurred_at >= "2026-11-25T10:00:00Z" and occurred_at < "2026-11-25T12:00:00Z"';

it('puts times before what a where says, in place of others, and takes them away again', () => {
  expect(withTimes(undefined, morning)).toBe(ofMorning);
  const both = withTimes('a = 1 or b = ")"', morning);
  expect(both).toBe(`${ofMorning} and (a = 1 or b = ")")`);
  expect(withTimes(both, night)).toBe(withTimes('a = 1 or b = ")"', night));
  expect(withTimes(both, null)).toBe('a = 1 or b = ")"');
  expect(withTimes(ofMorning, null)).toBeUndefined();
  expect([ofMorning, both].map(timesOf)).toEqual([morning, morning]);
});

it('leaves alone what a person wrote of the time', () => {
  const own = 'occurred_at >= "2026-11-25T10:00:00Z"';
  expect(withTimes(own, null)).toBe(own);
  expect(withTimes(undefined, null)).toBeUndefined();
  const changed = `${ofMorning} and (a = 1) or (b = 2)`;
  expect(withTimes(changed, null)).toBe(changed);
  expect([own, undefined, changed].map(timesOf)).toEqual([null, null, null]);
});
