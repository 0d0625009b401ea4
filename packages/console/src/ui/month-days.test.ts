import { describe, expect, it } from 'vitest';
import { monthsBetween } from './days.ts';
import { dayAfterKey, daysOfMonth, weekdayOf, weeksOf } from './month-days.ts';

describe('dayAfterKey', () => {
  const span = {
    months: monthsBetween('2000-01', '2001-03'),
    from: '2000-01-01',
    to: '2001-03-31',
  };
  const after = (key: string, day: string) => dayAfterKey(key, day, span);

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

describe('daysOfMonth', () => {
  it('knows leap years', () => {
    expect(daysOfMonth('2000-02').at(-1)).toBe('2000-02-29');
    expect(daysOfMonth('1900-02').at(-1)).toBe('1900-02-28');
  });
});

it('months go on into the next year', () => {
  expect(monthsBetween('2001-11', '2002-02')).toEqual(['2001-11', '2001-12', '2002-01', '2002-02']);
});
