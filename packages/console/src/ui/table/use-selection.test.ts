import { expect, test } from 'vitest';
import { rangeOf } from './use-selection.ts';

const rows = ['a', 'b', 'c', 'd'];

test.each([
  ['b', 'd', ['b', 'c', 'd']],
  ['d', 'b', ['b', 'c', 'd']],
  ['b', 'b', ['b']],
  [null, 'c', ['c']],
  ['gone', 'c', ['c']],
])('from %s to %s are %j', (from, to, expected) => {
  expect(rangeOf(rows, from, to)).toEqual(expected);
});
