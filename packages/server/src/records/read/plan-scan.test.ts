import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip } from '../segments/row-ranges.ts';
import { maxSegments } from './open-segments.ts';
import { boundary, firstDayBeyond, planScan } from './plan-scan.ts';
import type { DayInSegment } from './queries.ts';
import { compareKeys } from './tier.ts';

function day(date: string, id: string, [first_row, count]: [number, number]): DayInSegment {
  return {
    tenant: 'TX',
    store: 'DFW',
    day: date,
    first_day: date,
    last_day: date,
    segment_id: id,
    first_row,
    count,
    bytes: 100 * count,
    object_key: `tenant=TX/${id}.parquet`,
    size_bytes: 1,
    sha256: Buffer.alloc(32),
  };
}

const onward = { after: null, descending: false, mayBeMore: false };
const days = [
  day('2001-01-01', 's1', [0, 10]),
  day('2001-01-02', 's1', [10, 10]),
  day('2001-01-03', 's2', [50, 10]),
];

test('picks no more days than the limit takes, and says how far they reach', () => {
  const plan = planScan(days, { ...onward, limit: 15 });
  expect(plan.parts.map(({ ranges }) => ranges)).toEqual([[[0, 14]]]);
  expect(plan).toMatchObject({ rowCount: 15, isFull: true });
  expect(plan.end).toEqual(['TX', 'DFW', '2001-01-03T00:00:00.000000Z', '']);
});

test('takes all rows of each day where all of them are searched', () => {
  const plan = planScan(days, { ...onward, limit: 15, areWhole: true });
  expect(plan.parts.map(({ ranges }) => ranges)).toEqual([[[0, 19]]]);
  expect(plan.end).toEqual(['TX', 'DFW', '2001-01-03T00:00:00.000000Z', '']);
});

test('towards the beginning it takes the last rows of a day', () => {
  const plan = planScan([...days].reverse(), { ...onward, descending: true, limit: 12 });
  expect(plan.parts.map(({ ranges }) => ranges)).toEqual([[[50, 59]], [[18, 19]]]);
  expect(plan.end).toEqual(['TX', 'DFW', '2001-01-02T00:00:00.000000Z', '']);
});

test('the day of the cursor is read whole and counts as none', () => {
  const after = ['TX', 'DFW', '2001-01-01T12:00:00.000000Z', 'e'] as const;
  const plan = planScan(days, { ...onward, after, limit: 5 });
  expect(plan.parts.map(({ ranges }) => ranges)).toEqual([[[0, 14]]]);
});

test('a scan to the last day has no end, unless the catalogue has more days', () => {
  expect(planScan(days, { ...onward, limit: 100 }).end).toBeNull();
  const { end } = planScan(days, { ...onward, limit: 100, mayBeMore: true });
  expect(end).toEqual(['TX', 'DFW', '2001-01-04T00:00:00.000000Z', '']);
  expect(planScan([], { ...onward, limit: 100 })).toMatchObject({ parts: [], end: null });
});

test('few segments are opened, except for one day that lies in many', () => {
  const scattered = Array.from({ length: 40 }, (_, n) =>
    day(`2001-01-${String(1 + (n >> 1)).padStart(2, '0')}`, `s${n}`, [0, 1]),
  );
  const plan = planScan(scattered, { ...onward, limit: 500 });
  expect(plan.parts).toHaveLength(maxSegments);
  expect(plan.end?.[2]).toBe('2001-01-09T00:00:00.000000Z');
  const oneDay = Array.from({ length: 40 }, (_, n) => day('2001-01-01', `s${n}`, [0, 1]));
  const whole = planScan([...oneDay, ...scattered], { ...onward, limit: 500 });
  expect(whole.parts).toHaveLength(40);
});

test('reading on from a boundary begins with the next day, not with the one just read', () => {
  const of = { tenant: 'TX', store: 'DFW', day: '2001-03-01' };
  expect(firstDayBeyond(boundary(of, false), false)).toEqual(['TX', 'DFW', '2001-03-02']);
  expect(firstDayBeyond(boundary(of, true), true)).toEqual(['TX', 'DFW', '2001-02-28']);
  const key = ['TX', 'DFW', '2001-03-01T00:00:00.000000Z', 'e'] as const;
  expect(firstDayBeyond(key, true)).toEqual(['TX', 'DFW', '2001-03-01']);
});

test('clips ranges', () => {
  expect(
    clip(
      [
        [0, 9],
        [20, 29],
        [40, 49],
      ],
      [5, 20],
    ),
  ).toEqual([
    [5, 9],
    [20, 20],
  ]);
  expect(clip([[0, 9]], [10, 12])).toEqual([]);
});

test('a boundary lies behind every record of its day and before those of the next', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 50_000 }), fc.string({ minLength: 1 }), (n, id) => {
      const at = (offset: number) => new Date((n + offset) * 86_400_000).toISOString().slice(0, 10);
      const of = { tenant: 'TX', store: 'DFW', day: at(0) };
      const first = ['TX', 'DFW', `${at(0)}T00:00:00.000000Z`, id] as const;
      const last = ['TX', 'DFW', `${at(0)}T23:59:59.999999Z`, id] as const;
      const next = ['TX', 'DFW', `${at(1)}T00:00:00.000000Z`, id] as const;
      expect(compareKeys(last, boundary(of, false))).toBeLessThan(0);
      expect(compareKeys(next, boundary(of, false))).toBeGreaterThan(0);
      expect(compareKeys(first, boundary(of, true))).toBeGreaterThan(0);
    }),
  );
});

test('whatever the layout, no row is planned twice and enough of them are', () => {
  const layout = fc.array(
    fc.record({ count: fc.integer({ min: 1, max: 9 }), segments: fc.integer({ min: 1, max: 3 }) }),
    { minLength: 1, maxLength: 12 },
  );
  fc.assert(
    fc.property(
      layout,
      fc.integer({ min: 1, max: 30 }),
      fc.boolean(),
      (groups, limit, descending) => {
        const free = new Map<string, number>();
        const all = groups.flatMap(({ count, segments }, n) =>
          Array.from({ length: segments }, (_, s) => {
            const from = free.get(`s${s}`) ?? 0;
            free.set(`s${s}`, from + count);
            return day(`2001-01-${String(n + 1).padStart(2, '0')}`, `s${s}`, [from, count]);
          }),
        );
        if (descending) all.reverse();
        const plan = planScan(all, { ...onward, descending, limit });
        const planned = plan.parts.flatMap(({ ranges }) => ranges.map(([a, b]) => b - a + 1));
        const sum = planned.reduce((total, rows) => total + rows, 0);
        expect(sum).toBe(plan.rowCount);
        const available = all.reduce((total, { count }) => total + count, 0);
        expect(sum).toBeGreaterThanOrEqual(Math.min(limit, available));
        if (plan.end === null) {
          expect(plan.parts).toHaveLength(new Set(all.map((own) => own.segment_id)).size);
        }
        for (const { ranges } of plan.parts) {
          for (const [n, range] of ranges.entries()) {
            const before = ranges[n - 1];
            if (before !== undefined) expect(range[0]).toBeGreaterThan(before[1] + 1);
          }
        }
      },
    ),
  );
});
