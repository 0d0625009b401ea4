// The days here are days of UTC as text, `YYYY-MM-DD`, as the contract and PostgreSQL spell them.

export const dayMillis = 86_400_000;

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  const isShaped = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
  return isShaped && addDays(text, 0) === text;
}

/** Returns the day that comes `days` days after this one, or before it when `days` is negative. */
export function addDays(day: string, days: number): string {
  // Only the time of day, 14 characters, is cut off at the end: the year after 9999 has a sign and six digits.
  return new Date(Date.parse(day) + days * dayMillis).toISOString().slice(0, -14);
}

/**
 * Returns the next day. A page of the tree needs thousands of these, and making a Date takes ten times as long as
 * changing the text, so a Date is made only at the end of a month.
 */
export function dayAfter(day: string): string {
  const number = Number(day.slice(8));
  return number < 28 ? `${day.slice(0, 8)}${twoDigits(number + 1)}` : addDays(day, 1);
}

/** Returns the first day of a day's month. */
export function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`;
}

/** Returns the first day of the month that follows the month of this day. */
export function firstOfNextMonth(day: string): string {
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7));
  return month === 12
    ? `${String(year + 1).padStart(4, '0')}-01-01`
    : `${day.slice(0, 5)}${twoDigits(month + 1)}-01`;
}

/** Returns the number of days in a month that is given as `YYYY-MM`. */
export function daysIn(month: string): number {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
}

/** Returns the first and the last day of a month that is given as `YYYY-MM`. */
export function monthEnds(month: string): [string, string] {
  return [`${month}-01`, `${month}-${daysIn(month)}`];
}

/** Returns the quarter of a month that is given as `YYYY-MM`, as people write it: `2001-Q1`. */
export function quarterOf(month: string): string {
  return `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`;
}

/** Returns the first and the last day of a quarter, written as 2001-Q1, 2001q1 or 2001 Q1; null where a text is none. */
export function quarterEnds(text: string): [string, string] | null {
  const [, year = '', quarter] = /^(\d{4})[- ]?q([1-4])$/i.exec(text) ?? [];
  if (quarter === undefined) return null;
  const monthAt = (number: number) => `${year}-${twoDigits(number)}`;
  const last = Number(quarter) * 3;
  return [monthEnds(monthAt(last - 2))[0], monthEnds(monthAt(last))[1]];
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
