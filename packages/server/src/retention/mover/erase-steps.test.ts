import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spansOf } from './erase-steps.ts';

const dayMillis = 86_400_000;
const dayText = (number: number) => new Date(number * dayMillis).toISOString().slice(0, 10);

function locked(store: string, number: number, hot: number) {
  return {
    ...{ store, day: dayText(number), count: hot + 1, bytes: hot + 1, digest: '0' },
    ...{ cold_count: 1, cold_bytes: 1, cold_digest: '0' },
  };
}

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
        const spans = spansOf(days.map(({ store, number, hot }) => locked(store, number, hot)));
        const covered = spans.flatMap(({ store, from, to }) => {
          const [first, last] = [Date.parse(from) / dayMillis, Date.parse(to) / dayMillis];
          return Array.from({ length: last - first + 1 }, (_, n) => `${store}/${first + n}`);
        });
        expect(covered.sort()).toEqual(days.map((one) => `${one.store}/${one.number}`).sort());
      },
    ),
  );
});

test('days with many records are not taken together', () => {
  const many = [0, 1, 2].map((number) => locked('A', number, 150_000));
  expect(spansOf(many)).toHaveLength(3);
  expect(spansOf([0, 1, 2].map((number) => locked('A', number, 10)))).toEqual([
    { store: 'A', from: '1970-01-01', to: '1970-01-03' },
  ]);
});
