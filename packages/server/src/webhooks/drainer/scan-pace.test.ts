import { expect, test } from 'vitest';
import { restAfter, scanMillis } from './pace.ts';

test('lets a short look be followed at once, and a long one after four times as long', () => {
  expect(restAfter(0)).toBe(10);
  expect(restAfter(50)).toBe(200);
});

test('never rests longer than it would without a call', () => {
  expect(restAfter(10_000)).toBe(scanMillis);
});
