import { expect, test } from 'vitest';
import { dayAfter } from '../../kernel/day.ts';
import { designOf, shareOf, sumByPlace } from './estimate.ts';
import { pickDays } from './pick-days.ts';

const rowsWhere = (count: number, has: (n: number) => boolean) =>
  Array.from({ length: count }, (_, n) => n).filter(has);

test('of all records a share is what it is', () => {
  const design = designOf({ count: 8, reach: 1 }, [0, 0, 0, 0, 1, 1, 1, 1]);
  const share = shareOf(design, sumByPlace(design, [1, 2]));
  expect(share).toEqual({ share: 0.25, low: 0.25, high: 0.25 });
  const none = designOf({ count: 0, reach: 1 }, []);
  expect(shareOf(none, sumByPlace(none, []))).toEqual({ share: 0, low: 0, high: 0 });
});

test('a simple sample of one place has the interval of Wilson', () => {
  const design = designOf({ count: 1_000_000, reach: 1 }, Array<number>(100).fill(7));
  const { share, low, high } = shareOf(
    design,
    sumByPlace(
      design,
      rowsWhere(100, (n) => n < 30),
    ),
  );
  expect(share).toBe(0.3);
  expect(low).toBeCloseTo(0.219, 3);
  expect(high).toBeCloseTo(0.396, 3);
  const all = shareOf(
    design,
    sumByPlace(
      design,
      rowsWhere(100, () => true),
    ),
  );
  expect(all).toMatchObject({ share: 1, high: 1 });
  expect(all.low).toBeCloseTo(0.963, 3);
});

test('where each place is all alike, the places count, not their records', () => {
  const places = Array.from({ length: 1000 }, (_, n) => Math.floor(n / 100));
  const widthOf = (reach: number, has: (n: number) => boolean) => {
    const design = designOf({ count: 1_000_000, reach }, places);
    const { low, high } = shareOf(design, sumByPlace(design, rowsWhere(1000, has)));
    return high - low;
  };
  const mixed = widthOf(0.01, (n) => n % 2 === 0);
  const alike = widthOf(0.01, (n) => Math.floor(n / 100) % 2 === 0);
  expect(mixed).toBeLessThan(0.08);
  expect(alike).toBeGreaterThan(0.5);
  // What begins at some place is known but for where in that place.
  const begun = widthOf(0.01, (n) => n < 500);
  expect(begun).toBeGreaterThan(0.2);
  expect(begun).toBeLessThan(0.4);
  // Where these are all the days there are, nothing was left to chance but the records within them.
  expect(widthOf(1, (n) => n < 500)).toBeLessThan(0.08);
});

test('the interval holds the truth in some 19 of 20 samples, whatever the days are like', () => {
  const days: { store: string; day: string; count: number; cold_count: number }[] = [];
  for (let day = '2001-01-01'; days.length < 400; day = dayAfter(day)) {
    days.push({ store: 'A', day, count: 1000, cold_count: 0 });
  }
  const total = 400_000;
  const size = { records: 2000, places: 20, mostPlaces: 20, keysEach: 1 };
  const stores = [{ store: 'A', before: 0, total, places: size.places }];
  /** Of each day the share of its records that have the value. */
  const shapes: ((n: number) => number)[] = [
    () => 0.3,
    (n) => ((n * 7919) % 101) / 101,
    (n) => Number((n * 7919) % 10 < 3),
    (n) => n / 400,
    (n) => (n % 7 < 2 ? 0.9 : 0.1),
  ];
  for (const shape of shapes) {
    const truth = days.reduce((sum, _, n) => sum + shape(n), 0) / days.length;
    let held = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      const takes = pickDays(stores, days, { size, phase: (turn * 0.7548776) % 1 });
      const records = takes.flatMap(({ day, hot, place }) => {
        const has = shape(days.findIndex((one) => one.day === day)) * hot;
        return Array.from({ length: hot }, (_, n) => ({ place, has: n < Math.round(has) }));
      });
      const reach = takes.length / days.length;
      const design = designOf(
        { count: total, reach },
        records.map(({ place }) => place),
      );
      const rows = rowsWhere(records.length, (n) => records[n]?.has === true);
      const { low, high } = shareOf(design, sumByPlace(design, rows));
      if (low <= truth && truth <= high) held += 1;
    }
    expect(held).toBeGreaterThanOrEqual(88);
  }
});
