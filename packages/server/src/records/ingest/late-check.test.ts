import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeRanges } from './late-check.ts';

test('merged ranges cover all that was asked for, in order and apart from each other', () => {
  const range = fc
    .tuple(fc.integer({ min: 0, max: 2_000_000 }), fc.integer({ min: 0, max: 50_000 }))
    .map(([first, length]) => ({ first, last: first + length }));
  fc.assert(
    fc.property(fc.array(range, { minLength: 1 }), (ranges) => {
      const merged = mergeRanges(ranges);
      for (const { first, last } of ranges) {
        expect(merged.some((one) => one.first <= first && last <= one.last)).toBe(true);
      }
      for (const [index, one] of merged.entries()) {
        const before = merged[index - 1];
        if (before !== undefined) expect(one.first - before.last).toBeGreaterThan(61_440);
      }
    }),
  );
});

test('near ranges become one, far ones stay apart', () => {
  const near = [
    { first: 100, last: 200 },
    { first: 0, last: 10 },
  ];
  expect(mergeRanges(near)).toEqual([{ first: 0, last: 200 }]);
  const far = { first: 200_000, last: 200_001 };
  expect(mergeRanges([far, ...near])).toEqual([{ first: 0, last: 200 }, far]);
});
