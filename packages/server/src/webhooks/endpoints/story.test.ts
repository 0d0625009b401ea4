import { expect, test } from 'vitest';
import { answerBounds } from '../values.ts';
import { percentile } from './story.ts';

/** A histogram with so many answers at some of its places. */
function histogram(counts: Record<number, number>): number[] {
  return Array.from({ length: answerBounds.length + 1 }, (_, place) => counts[place] ?? 0);
}

test('tells the bound that this share of the answers did not pass', () => {
  const times = histogram({ 0: 50, 3: 45, 7: 5 });
  expect(percentile(times, 0.5)).toBe(5);
  expect(percentile(times, 0.51)).toBe(20);
  expect(percentile(times, 0.95)).toBe(20);
  expect(percentile(times, 0.99)).toBe(100);
});

test('tells no time where there was no answer, and none that is longer than the longest bound', () => {
  expect(percentile(histogram({}), 0.5)).toBeNull();
  const times = histogram({ 0: 1, [answerBounds.length]: 1 });
  expect([percentile(times, 0.5), percentile(times, 0.99)]).toEqual([5, null]);
});
