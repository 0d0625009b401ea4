import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type CountedDay,
  pickDays,
  spread,
  type Take,
  takeAll,
  toSampledStretches,
  toWholeStretches,
} from './pick-days.ts';

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

const sized = { records: 0, places: 1, mostPlaces: 1, keysEach: 1 };
const phases = fc.double({ min: 0, max: 0.999, noNaN: true });

test('takes as many as are wanted, and no more of a day than each of its tiers has', () => {
  fc.assert(
    fc.property(
      counts,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 600 }),
      phases,
      (list, places, each, phase) => {
        const days = toDays(list);
        const total = days.reduce((sum, { count }) => sum + count, 0);
        fc.pre(total > places * each);
        const size = { ...sized, records: places * each };
        const takes = pickDays([{ store: 'A', before: 0, total, places }], days, { size, phase });
        const taken = takes.reduce((sum, { hot, cold }) => sum + hot + cold, 0);
        expect(Math.abs(taken - size.records)).toBeLessThanOrEqual(1);
        for (const { day, hot, hotCount, cold, coldCount } of takes) {
          const of = days.find((one) => one.day === day);
          expect([hotCount + coldCount, coldCount]).toEqual([of?.count, of?.cold_count]);
          expect(cold).toBeLessThanOrEqual(coldCount);
          expect(hot).toBeLessThanOrEqual(hotCount);
        }
      },
    ),
  );
});

test('each place lies somewhere in its stretch of the days, by count', () => {
  const days = toDays(Array.from({ length: 100 }, () => ({ hot: 1_000, cold: 0 })));
  const size = { ...sized, records: 2_000 };
  const stores = [{ store: 'A', before: 0, total: 100_000, places: 4 }];
  expect(pickDays(stores, days, { size, phase: 0.5 }).map(({ day, hot }) => [day, hot])).toEqual([
    ['2001-01-13', 500],
    // Where a day ends within a place, the next one gives the rest.
    ['2001-01-28', 108],
    ['2001-01-29', 392],
    ['2001-03-10', 500],
    ['2001-03-25', 325],
    ['2001-03-26', 175],
  ]);
});

test('small days and stores give to a place together, as large ones do alone', () => {
  const days = [
    ...toDays([{ hot: 1_000, cold: 0 }]),
    ...['B', 'C', 'D', 'E'].flatMap((store) => toDays([{ hot: 150, cold: 100 }], store)),
  ];
  const stores = ['A', 'B', 'C', 'D', 'E'].map((store, n) => ({
    store,
    before: n === 0 ? 0 : 750 + 250 * n,
    total: 2_000,
    places: 2,
  }));
  const size = { ...sized, records: 1_000 };
  const takes = pickDays(stores, days, { size, phase: 0.25 });
  expect(takes.map(({ store, hot, cold }) => [store, hot, cold])).toEqual([
    ['A', 500, 0],
    ['C', 40, 26],
    ['D', 150, 100],
    ['E', 110, 74],
  ]);
  expect(takeAll(days)).toHaveLength(5);
});

test('no rhythm of the days shows in the places', () => {
  const days = toDays(Array.from({ length: 700 }, () => ({ hot: 1_000, cold: 0 })));
  const size = { ...sized, records: 50_000 };
  const stores = [{ store: 'A', before: 0, total: 700_000, places: 50 }];
  // The places are 14 days apart.
  const takes = pickDays(stores, days, { size, phase: 0.3 });
  const byWeekday = new Map<number, number>();
  for (const { day, hot } of takes) {
    const weekday = new Date(day).getUTCDay();
    byWeekday.set(weekday, (byWeekday.get(weekday) ?? 0) + hot);
  }
  for (const records of byWeekday.values()) expect(records / 50_000).toBeCloseTo(1 / 7, 1);
  expect(byWeekday.size).toBe(7);
  expect(new Set(takes.map(({ place }) => place)).size).toBe(50);
});

test('records are spread over all there are, one in each of as many stretches', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      phases,
      (count, share, phase) => {
        const wanted = Math.max(1, Math.floor(count * share));
        const places = spread(count, wanted, phase);
        expect(places.map((place) => Math.floor(((place + 1) * wanted - 1) / count))).toEqual(
          places.map((_, n) => n),
        );
      },
    ),
  );
});

test('no rhythm of the records shows in what is taken of them', () => {
  for (const every of [2, 4, 10, 24]) {
    const taken = spread(40_000, 1_000, 0.3).filter((place) => place % every === 0);
    expect(taken.length / 1_000).toBeCloseTo(1 / every, 1);
  }
});

const take = (store: string, day: string, hot: number, hotCount: number): Take => ({
  store,
  day,
  place: 0,
  hot,
  hotCount,
  cold: 0,
  coldCount: 0,
});

test('hot days that are looked at whole and follow each other are one stretch', () => {
  const stretches = toWholeStretches([
    take('A', '2001-01-30', 5, 5),
    take('A', '2001-01-31', 2, 2),
    take('A', '2001-02-01', 3, 4),
    take('A', '2001-02-02', 1, 1),
    take('B', '2001-02-03', 0, 0),
    take('C', '2001-02-03', 4, 4),
  ]);
  expect(
    stretches.map(({ store, first_at, until_at }) => [
      store,
      first_at.slice(5, 10),
      until_at.slice(5, 10),
    ]),
  ).toEqual([
    ['A', '01-30', '02-01'],
    ['A', '02-02', '02-03'],
    ['C', '02-03', '02-04'],
  ]);
});

test('of a day with too many keys the same part of all its times is read', () => {
  const takes = [take('A', '2001-01-30', 5, 5), take('A', '2001-01-31', 10, 400)];
  expect(toSampledStretches(takes, 40)).toMatchObject([
    { share: 0.025, first_at: '2001-01-31T00:00:00.000Z', until_at: '2001-02-01T00:00:00.000Z' },
  ]);
  const stretches = toSampledStretches(takes, 10);
  const pieceMillis = 300_000;
  for (const [n, { first_at, until_at, share }] of stretches.entries()) {
    const [first, until] = [first_at, until_at].map((at) => Date.parse(at) - Date.UTC(2001, 0, 31));
    expect(share).toBeCloseTo(0.1);
    expect((until ?? 0) - (first ?? 0)).toBeCloseTo(pieceMillis / 4, -1);
    expect(first).toBeGreaterThanOrEqual(n * pieceMillis);
    expect(until).toBeLessThanOrEqual((n + 1) * pieceMillis);
  }
  expect(stretches).toHaveLength(86_400_000 / pieceMillis);
});
