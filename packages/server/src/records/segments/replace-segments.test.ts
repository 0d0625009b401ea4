import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spansOf } from './replace-segments.ts';

const dayMillis = 86_400_000;
const dayText = (number: number) => new Date(number * dayMillis).toISOString().slice(0, 10);

const counted = (store: string, number: number, count: number) => ({
  store,
  day: dayText(number),
  count,
});

test('spans hold exactly the given days, once each, and no store of its neighbour', () => {
  const day = fc.record({
    store: fc.constantFrom('A', 'B'),
    number: fc.integer({ min: 0, max: 40 }),
    hot: fc.constantFrom(1, 90_000, 300_000),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(day, { selector: ({ store, number }) => `${store}/${number}` }),
      (days) => {
        const spans = spansOf(days.map(({ store, number, hot }) => counted(store, number, hot)));
        const covered = spans.flatMap(({ store, from, until }) => {
          const [first, end] = [Date.parse(from) / dayMillis, Date.parse(until) / dayMillis];
          return Array.from({ length: end - first }, (_, n) => `${store}/${first + n}`);
        });
        expect(covered.sort()).toEqual(days.map((one) => `${one.store}/${one.number}`).sort());
      },
    ),
  );
});

test('days with many records are not taken together', () => {
  const many = [0, 1, 2].map((number) => counted('A', number, 150_000));
  expect(spansOf(many)).toHaveLength(3);
  expect(spansOf([0, 1, 2].map((number) => counted('A', number, 10)))).toEqual([
    { store: 'A', from: '1970-01-01', until: '1970-01-04', count: 30 },
  ]);
});
