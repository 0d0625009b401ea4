import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, dayAfter, dayMillis, daysIn, firstOfMonth, firstOfNextMonth } from './day.ts';

const first = Date.parse('1970-01-01');
const last = Date.parse('9999-11-30');
const days = fc
  .integer({ min: first / dayMillis, max: last / dayMillis })
  .map((number) => new Date(number * dayMillis).toISOString().slice(0, 10));

test('days and months follow each other as in the calendar', () => {
  fc.assert(
    fc.property(days, (day) => {
      const next = dayAfter(day);
      expect(Date.parse(next) - Date.parse(day)).toBe(dayMillis);
      expect(addDays(next, -1)).toBe(day);
      const month = day.slice(0, 7);
      expect(firstOfMonth(day)).toBe(`${month}-01`);
      expect(addDays(firstOfMonth(day), daysIn(month))).toBe(firstOfNextMonth(day));
    }),
  );
});

test('the day after is right over months, years and leap days', () => {
  expect(['2000-02-28', '2001-02-28', '2001-12-31'].map(dayAfter)).toEqual([
    '2000-02-29',
    '2001-03-01',
    '2002-01-01',
  ]);
});

test('the day after the last of four digits keeps its month and day', () => {
  expect(addDays('9999-12-31', 1)).toBe('+010000-01-01');
});
