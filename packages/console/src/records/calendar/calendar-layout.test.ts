import { describe, expect, it } from 'vitest';
import type { DayRow } from '../../api/types.ts';
import {
  dayAfterKey,
  daysOfMonth,
  seriesOf,
  spanOf,
  sumDays,
  weekdayOf,
  weeksOf,
} from './calendar-layout.ts';

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
    expect(spanOf('2000-12-31T23:00:00Z', '2001-02-01T00:00:00Z', undefined)).toEqual({
      months: ['2000-12', '2001-01', '2001-02'],
      from: '2000-12-01',
      to: '2001-02-28',
      year: 2001,
      hasEarlier: false,
      hasLater: false,
    });
  });

  it('shows three years of a longer time, the last ones first', () => {
    const first = '1987-10-05T00:00:00Z';
    const last = '2008-03-31T00:00:00Z';
    const end = spanOf(first, last, undefined);
    expect([end?.from, end?.to, end?.hasEarlier, end?.hasLater]).toEqual([
      '2006-01-01',
      '2008-03-31',
      true,
      false,
    ]);
    const start = spanOf(first, last, 1980);
    expect([start?.from, start?.to, start?.year, start?.hasEarlier, start?.hasLater]).toEqual([
      '1987-10-01',
      '1987-12-31',
      1987,
      false,
      true,
    ]);
  });

  it('is none where nothing is stored', () => {
    expect(spanOf(null, null, 2001)).toBeNull();
  });
});

describe('dayAfterKey', () => {
  const span = spanOf('2000-01-15T00:00:00Z', '2001-03-02T00:00:00Z', undefined);
  const after = (key: string, day: string) => span && dayAfterKey(key, day, span);

  it('goes by day, week and month, and stays inside', () => {
    expect(after('ArrowRight', '2000-02-29')).toBe('2000-03-01');
    expect(after('ArrowLeft', '2000-01-01')).toBe('2000-01-01');
    expect(after('ArrowRight', '2001-03-31')).toBe('2001-03-31');
    expect(after('ArrowUp', '2000-03-03')).toBe('2000-02-25');
    expect(after('ArrowDown', '2001-02-26')).toBe('2001-03-05');
    expect(after('ArrowDown', '2001-03-27')).toBe('2001-03-31');
    expect(after('PageUp', '2000-03-31')).toBe('2000-02-29');
    expect(after('PageDown', '2001-03-04')).toBe('2001-03-04');
    expect([after('Home', '2000-02-14'), after('End', '2000-02-14')]).toEqual([
      '2000-02-01',
      '2000-02-29',
    ]);
    expect(after('x', '2000-02-14')).toBeUndefined();
  });
});

describe('weeksOf', () => {
  it('begins weeks on Monday', () => {
    const weeks = weeksOf(daysOfMonth('2001-02'));
    expect(weeks.map(([first]) => first)).toEqual([
      ...['2001-02-01', '2001-02-05', '2001-02-12', '2001-02-19', '2001-02-26'],
    ]);
    expect(weekdayOf('2001-02-01')).toBe(3);
    expect(weeks.flat()).toHaveLength(28);
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
    const span = spanOf('2001-02-01', '2001-02-28', undefined);
    const series = span && seriesOf(span, new Map(rows.map((each) => [each.day, each])));
    expect(series).toHaveLength(28);
    expect(series?.slice(0, 3).map(({ parts }) => parts)).toEqual([[5], [0], [9]]);
  });

  it('knows leap years', () => {
    expect(daysOfMonth('2000-02').at(-1)).toBe('2000-02-29');
    expect(daysOfMonth('1900-02').at(-1)).toBe('1900-02-28');
  });
});
