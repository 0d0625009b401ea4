import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CountedDay, pickDays, type Take, takeAll, toHotStretches } from './pick-days.ts';

const counts = fc.array(
  fc
    .record({ hot: fc.nat({ max: 2_000 }), cold: fc.nat({ max: 2_000 }) })
    .filter(({ hot, cold }) => hot + cold > 0),
  { minLength: 1, maxLength: 40 },
);

function toDays(list: readonly { hot: number; cold: number }[], store = 'A'): CountedDay[] {
  return list.map(({ hot, cold }, n) => ({
    store,
    day: new Date(Date.UTC(2001, 0, 1 + n)).toISOString().slice(0, 10),
    count: hot + cold,
    cold_count: cold,
  }));
}

test('takes no more of a day than each of its tiers has, and as many as are wanted', () => {
  fc.assert(
    fc.property(
      counts,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 600 }),
      (list, hits, recordsEach) => {
        const days = toDays(list);
        const takes = pickDays([{ store: 'A', hits, places: hits, total: 0 }], days, recordsEach);
        const total = days.reduce((sum, { count }) => sum + count, 0);
        const taken = takes.reduce((sum, { hot, cold }) => sum + hot + cold, 0);
        expect(taken).toBe(Math.min(total, hits * recordsEach));
        for (const { day, hot, cold } of takes) {
          const of = days.find((one) => one.day === day);
          expect(cold).toBeLessThanOrEqual(of?.cold_count ?? -1);
          expect(hot).toBeLessThanOrEqual((of?.count ?? 0) - (of?.cold_count ?? 0));
        }
        expect(new Set(takes.map(({ day }) => day)).size).toBe(takes.length);
      },
    ),
  );
});

test('the places lie evenly over the days, by count', () => {
  const days = toDays(Array.from({ length: 100 }, () => ({ hot: 1_000, cold: 0 })));
  const takes = pickDays([{ store: 'A', hits: 4, places: 4, total: 0 }], days, 500);
  expect(takes.map(({ day, hot }) => [day, hot])).toEqual([
    ['2001-01-13', 500],
    ['2001-02-07', 500],
    ['2001-03-04', 500],
    ['2001-03-29', 500],
  ]);
});

test('days too small for a place give to it together, round the end too', () => {
  const days = toDays([
    { hot: 3, cold: 0 },
    { hot: 0, cold: 1 },
    { hot: 2, cold: 2 },
  ]);
  expect(pickDays([{ store: 'A', hits: 1, places: 1, total: 0 }], days, 6)).toEqual([
    { store: 'A', day: '2001-01-01', hot: 2, cold: 0, isWhole: false },
    { store: 'A', day: '2001-01-03', hot: 2, cold: 2, isWhole: true },
  ]);
});

test('stores are sampled by their own days alone', () => {
  const days = [...toDays([{ hot: 5, cold: 0 }]), ...toDays([{ hot: 0, cold: 7 }], 'B')];
  expect(pickDays([{ store: 'B', hits: 1, places: 2, total: 0 }], days, 500)).toEqual([
    { store: 'B', day: '2001-01-01', hot: 0, cold: 7, isWhole: true },
  ]);
  expect(takeAll(days)).toHaveLength(2);
});

test('hot days that follow each other are one stretch, of whose last day some may be left out', () => {
  const take = (store: string, day: string, hot: number, isWhole = true): Take => ({
    ...{ store, day, hot, cold: 0, isWhole },
  });
  const stretches = toHotStretches([
    take('A', '2001-01-30', 5),
    take('A', '2001-01-31', 0),
    take('A', '2001-02-01', 3, false),
    take('A', '2001-02-02', 1),
    take('A', '2001-02-04', 2),
    take('B', '2001-02-05', 0),
    take('C', '2001-02-06', 4),
  ]);
  expect(
    stretches.map(({ store, first_at, last_at, most }) => [
      store,
      first_at.slice(5, 10),
      last_at.slice(5, 10),
      most,
    ]),
  ).toEqual([
    ['A', '01-30', '02-01', 8],
    ['A', '02-02', '02-02', 1],
    ['A', '02-04', '02-04', 2],
    ['C', '02-06', '02-06', 4],
  ]);
});
