// Days of UTC as text, `YYYY-MM-DD`, as they come from the contract and from PostgreSQL.

export const dayMillis = 86_400_000;

/** The day that stands so many days after this one, or before it when `days` is negative. */
export function addDays(day: string, days: number): string {
  // What stands before the time of day: the year after 9999 has a sign and six digits.
  return new Date(Date.parse(day) + days * dayMillis).toISOString().slice(0, -14);
}

/**
 * A page of the tree asks for thousands of them: where text will do, no Date is made, which takes ten times as
 * long.
 */
export function dayAfter(day: string): string {
  const number = Number(day.slice(8));
  return number < 28 ? `${day.slice(0, 8)}${twoDigits(number + 1)}` : addDays(day, 1);
}

/** The first day of a day's month. */
export function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`;
}

export function firstOfNextMonth(day: string): string {
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7));
  return month === 12
    ? `${String(year + 1).padStart(4, '0')}-01-01`
    : `${day.slice(0, 5)}${twoDigits(month + 1)}-01`;
}

/** How many days a month has, `YYYY-MM`. */
export function daysIn(month: string): number {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
