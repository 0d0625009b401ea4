import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contains } from '../slice/slice.ts';
import { createLookUp } from './note-gone-records.ts';

const day = fc.integer({ min: 1, max: 9 }).map((n) => `2025-03-0${n}`);
const store = fc.constantFrom('A', 'B', null);
const window = fc
  .tuple(store, day, day)
  .map(([own, a, b]) => ({ store: own, from: a < b ? a : b, until: a < b ? b : a }));
const storeDays = fc.array(fc.record({ store: fc.constantFrom('A', 'B', 'C'), day }));

test('a window has lost a record when one of the days lies in it', () => {
  fc.assert(
    fc.property(storeDays, window, (days, own) => {
      const expected = days.some(
        (gone) =>
          (own.store === null || own.store === gone.store) &&
          own.from <= gone.day &&
          gone.day < own.until,
      );
      expect(createLookUp(days)(own)).toBe(expected);
    }),
  );
});

test('a window contains another when every store-day of that one is in it', () => {
  const days = ['A', 'B'].flatMap((of) =>
    Array.from({ length: 9 }, (_, n) => ({ store: of, day: `2025-03-0${n + 1}` })),
  );
  fc.assert(
    fc.property(window, window, (outer, inner) => {
      fc.pre(inner.from < inner.until);
      const isIn = (of: typeof outer) => (one: (typeof days)[number]) => createLookUp([one])(of);
      const isAll = days.filter(isIn(inner)).every(isIn(outer));
      // Of all stores there are more than these two.
      const isOfAll = outer.store === null || inner.store !== null;
      expect(contains(outer, inner)).toBe(isAll && isOfAll);
    }),
  );
});
