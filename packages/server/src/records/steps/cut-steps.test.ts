import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { type CutOptions, type Step, StepCutter } from './cut-steps.ts';
import type { Island } from './queries.ts';

const options: CutOptions = { firstRows: 10, chunkRows: 100, chunkBytes: 50_000, smallRows: 20 };

type StoreDay = { hot: number; parts: { segmentId: string; count: number }[] };

/** Islands of these store-days, one after another; `rows` counts where each segment's next rows stand. */
function islandsOf(days: readonly StoreDay[], rowBytes: number): Island[] {
  const rows = new Map<string, number>();
  return days.flatMap(({ hot, parts }, n): Island[] => {
    const day = `2001-01-${String((n % 28) + 1).padStart(2, '0')}`;
    const store = `s${String(Math.floor(n / 28)).padStart(4, '0')}`;
    const cold = parts.reduce((sum, { count }) => sum + count, 0);
    const base = {
      range: { first: { store, day }, last: { store, day }, minDay: day, maxDay: day },
      days: 1,
      count: hot + cold,
    };
    if (parts.length === 0) {
      const none = { segment_id: null, first_row: null, row_count: 0, bytes: 0 };
      return [{ ...base, ...none, tier: 'hot' }];
    }
    const tier = hot > 0 || parts.length > 1 ? ('both' as const) : ('cold' as const);
    return parts.map(({ segmentId, count }) => {
      const first_row = rows.get(segmentId) ?? 0;
      rows.set(segmentId, first_row + count);
      const place = { segment_id: segmentId, first_row, row_count: count, bytes: count * rowBytes };
      return { ...base, ...place, tier };
    });
  });
}

function cut(islands: readonly Island[]): Step[] {
  const cutter = new StepCutter(options);
  return [...islands.flatMap((island) => cutter.add(island)), ...cutter.end()];
}

/** The rows of each segment in the order they are read in. */
function rowsRead(steps: readonly Step[]): Map<string, number[]> {
  const read = new Map<string, number[]>();
  for (const { segmentId, firstRow, count } of steps.flatMap(({ chunks }) =>
    chunks.flatMap(({ runs }) => runs),
  )) {
    const rows = read.get(segmentId) ?? [];
    for (let row = firstRow; row < firstRow + count; row++) rows.push(row);
    read.set(segmentId, rows);
  }
  return read;
}

const part = fc.record({
  segmentId: fc.constantFrom('a', 'b', 'c'),
  count: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 90, max: 900 })),
});
const storeDay = fc
  .record({
    hot: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 })),
    parts: fc.uniqueArray(part, { maxLength: 3, selector: ({ segmentId }) => segmentId }),
  })
  .filter(({ hot, parts }) => hot + parts.length > 0);

test('every record is in one step, in key order, and chunks are bounded', () => {
  fc.assert(
    fc.property(
      fc.array(storeDay, { maxLength: 60 }),
      fc.constantFrom(100, 5_000),
      (days, size) => {
        const islands = islandsOf(days, size);
        const steps = cut(islands);
        const hot = days.reduce((sum, day) => sum + day.hot, 0);
        expect(steps.reduce((sum, step) => sum + step.hotCount, 0)).toBe(hot);
        for (const [segmentId, rows] of rowsRead(steps)) {
          const count = days
            .flatMap(({ parts }) => parts)
            .filter((own) => own.segmentId === segmentId)
            .reduce((sum, own) => sum + own.count, 0);
          expect(rows).toEqual(Array.from({ length: count }, (_, row) => row));
        }
        const largestDay = Math.max(
          options.chunkRows,
          ...days.filter(({ parts }) => parts.length > 1).map(({ parts }) => sumOf(parts)),
        );
        const hotDays = islands.filter(({ tier }) => tier !== 'cold');
        for (const { range, hotCount, chunks } of steps) {
          expect(hotCount + chunks.length).toBeGreaterThan(0);
          for (const chunk of chunks) {
            expect(chunk.count).toBe(sumOf(chunk.runs));
            expect(chunk.count).toBeLessThanOrEqual(largestDay);
          }
          if (hotCount > 0) expect(countHot(hotDays.filter(isWithin(range)))).toBe(hotCount);
        }
      },
    ),
    { numRuns: runs(200) },
  );
});

test('large neighbours of different tiers are read apart, small ones together', () => {
  const large = [
    { hot: 300, parts: [] },
    { hot: 0, parts: [{ segmentId: 'a', count: 90 }] },
    { hot: 300, parts: [] },
  ];
  expect(cut(islandsOf(large, 100)).map(tierOf)).toEqual(['hot', 'cold', 'hot']);
  const small = Array.from({ length: 8 }, (_, n) =>
    n % 2 === 0 ? { hot: 3, parts: [] } : { hot: 0, parts: [{ segmentId: 'a', count: 4 }] },
  );
  expect(cut(islandsOf(small, 100)).map(tierOf)).toEqual(['both']);
});

test('a day of both tiers is merged, and its neighbours are not if they are large', () => {
  const days = [
    { hot: 0, parts: [{ segmentId: 'a', count: 90 }] },
    { hot: 2, parts: [{ segmentId: 'a', count: 250 }] },
    { hot: 0, parts: [{ segmentId: 'a', count: 90 }] },
  ];
  const steps = cut(islandsOf(days, 100));
  expect(steps.map(tierOf)).toEqual(['cold', 'cold', 'both', 'cold']);
  expect(steps[2]?.chunks.map(({ count }) => count)).toEqual([100, 100, 50]);
});

test('the first chunk is small', () => {
  const steps = cut(islandsOf([{ hot: 0, parts: [{ segmentId: 'a', count: 150 }] }], 100));
  expect(steps.flatMap(({ chunks }) => chunks.map(({ count }) => count))).toEqual([10, 100, 40]);
});

/** What the COPY of a range finds. */
function isWithin({ first, last, minDay, maxDay }: Step['range']) {
  const place = ({ store, day }: { store: string; day: string }) => `${store} ${day}`;
  return ({
    range: {
      first: { store, day },
    },
  }: Island) =>
    place({ store, day }) >= place(first) &&
    place({ store, day }) <= place(last) &&
    day >= minDay &&
    day <= maxDay;
}

function countHot(islands: readonly Island[]): number {
  const days = new Map(
    islands.map((own) => [`${own.range.first.store} ${own.range.first.day}`, own.count]),
  );
  const all = [...days.values()].reduce((sum, count) => sum + count, 0);
  return all - islands.reduce((sum, own) => sum + own.row_count, 0);
}

function tierOf({ hotCount, chunks }: Step): string {
  if (chunks.length === 0) return 'hot';
  return hotCount === 0 ? 'cold' : 'both';
}

function sumOf(parts: readonly { count: number }[]): number {
  return parts.reduce((sum, { count }) => sum + count, 0);
}
