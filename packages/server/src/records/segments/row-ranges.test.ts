import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinRanges, type RowRange } from './row-ranges.ts';

test('joined ranges cover all that was asked for, in order and apart from each other', () => {
  const range = fc
    .tuple(fc.integer({ min: 0, max: 2_000_000 }), fc.integer({ min: 0, max: 50_000 }))
    .map(([first, length]): RowRange => [first, first + length]);
  const property = fc.property(fc.array(range), fc.constantFrom(1, 61_440), (ranges, reach) => {
    const joined = joinRanges(ranges, reach);
    for (const [first, last] of ranges) {
      expect(joined.some((one) => one[0] <= first && last <= one[1])).toBe(true);
    }
    for (const [index, one] of joined.entries()) {
      const before = joined[index - 1];
      if (before !== undefined) expect(one[0] - before[1]).toBeGreaterThan(reach);
    }
  });
  fc.assert(property);
});

test('near ranges become one, far ones stay apart', () => {
  const near: RowRange[] = [
    [100, 200],
    [0, 10],
  ];
  expect(joinRanges(near, 90)).toEqual([[0, 200]]);
  expect(joinRanges([[200_000, 200_001], ...near], 90)).toEqual([
    [0, 200],
    [200_000, 200_001],
  ]);
  expect(joinRanges([...near, [11, 12]])).toEqual([
    [0, 12],
    [100, 200],
  ]);
});
