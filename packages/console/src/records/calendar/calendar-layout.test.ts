import { describe, expect, it } from 'vitest';
import type { DayRow } from '../../api/types.ts';
import { seriesOf, spanOf, sumDays } from './calendar-layout.ts';

const row = (day: string, count: number, more: Partial<DayRow> = {}): DayRow => ({
  day,
  count,
  bytes: count * 200,
  tier: 'hot',
  covered: 0,
  by_dataset: { training: 0, fine_tuning: 0 },
  ...more,
});

describe('spanOf', () => {
  it('goes from the month of the first record to that of the last', () => {
    expect(spanOf('2000-12-31T23:00:00Z', '2001-02-01T00:00:00Z', {})).toEqual({
      months: ['2000-12', '2001-01', '2001-02'],
      from: '2000-12-01',
      to: '2001-02-28',
      years: [
        { year: 2000, count: null },
        { year: 2001, count: null },
      ],
    });
  });

  const first = '1987-10-05T00:00:00Z';
  const last = '2008-03-31T00:00:00Z';
  const endsOf = (of: Parameters<typeof spanOf>[2]) => {
    const span = spanOf(first, last, of);
    return [span?.from, span?.to];
  };

  it('shows three years of a longer time, the last ones first', () => {
    expect(endsOf({})).toEqual(['2006-01-01', '2008-03-31']);
    expect(endsOf({ wanted: 2000 })).toEqual(['1998-01-01', '2000-12-31']);
    expect(endsOf({ wanted: 1980 })).toEqual(['1987-10-01', '1987-12-31']);
  });

  it('opens where the data is, and not beyond a year without', () => {
    const years = [
      { year: 1987, count: 40_000 },
      { year: 1999, count: 900_000 },
      { year: 2000, count: 800_000 },
      { year: 2008, count: 30 },
    ];
    expect(endsOf({ years })).toEqual(['1999-01-01', '2000-12-31']);
    expect(endsOf({ years, wanted: 2008 })).toEqual(['2008-01-01', '2008-03-31']);
    expect(endsOf({ years, wanted: 2003 })).toEqual(['1999-01-01', '2000-12-31']);
  });

  it('is none where nothing is stored', () => {
    expect(spanOf(null, null, { wanted: 2001 })).toBeNull();
  });
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
