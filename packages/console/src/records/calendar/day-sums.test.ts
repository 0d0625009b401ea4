import { describe, expect, it } from 'vitest';
import type { DayRow } from '../../api/types.ts';
import { spanOf } from './calendar-layout.ts';
import { seriesOf, sumDays } from './day-sums.ts';

const row = (day: string, count: number, more: Partial<DayRow> = {}): DayRow => ({
  day,
  count,
  bytes: count * 200,
  tier: 'hot',
  covered: 0,
  by_dataset: { training: 0, fine_tuning: 0 },
  ...more,
});

describe('sums and series', () => {
  const rows = [
    row('2001-02-01', 5, { tier: 'cold', covered: 5 }),
    row('2001-02-03', 9),
    row('2001-03-01', 2),
  ];

  it('adds up the days of a range', () => {
    expect(sumDays(rows, '2001-02-01', '2001-02-28')).toEqual({
      days: 2,
      count: 14,
      covered: 5,
      most: rows[1],
      cold: 1,
    });
  });

  it('has a place for days without records', () => {
    const span = spanOf('2001-02-01', '2001-02-28', {});
    const series = span && seriesOf(span, new Map(rows.map((each) => [each.day, each])));
    expect(series).toHaveLength(28);
    expect(series?.slice(0, 3).map(({ parts }) => parts)).toEqual([[5], [0], [9]]);
  });
});
