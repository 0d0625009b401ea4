import { expect, test } from 'vitest';
import { createSlowStatements } from './slow-statements.ts';

test('statements that take long are kept by their text, the longest in all first', () => {
  const slow = createSlowStatements(100);
  slow.observe('select\n  1', 99.9);
  expect(slow.list()).toEqual([]);
  slow.observe('select\n  1', 100);
  slow.observe('select\n  1', 300);
  slow.observe('select 2', 500);
  expect(slow.list()).toEqual([
    { text: 'select 2', count: 1, totalMillis: 500, maxMillis: 500 },
    { text: 'select 1', count: 2, totalMillis: 400, maxMillis: 300 },
  ]);
});

test('only so many are kept, and long texts are cut', () => {
  const slow = createSlowStatements(1);
  for (let n = 1; n <= 60; n += 1) slow.observe(`select ${n} ${'x'.repeat(2000)}`, n);
  expect(slow.list()).toHaveLength(50);
  expect(slow.list().map(({ maxMillis }) => maxMillis)).not.toContain(10);
  expect(slow.list()[0]?.text).toHaveLength(1000);
});

test('none is kept where the threshold is 0', () => {
  const slow = createSlowStatements(0);
  slow.observe('select 1', 1e6);
  expect(slow.list()).toEqual([]);
});
