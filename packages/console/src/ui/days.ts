import { dayMillis } from '../api/values.ts';

export { dayMillis, daysIn, monthEnds } from '../api/values.ts';

/** The earliest and the latest day that the API takes, for ranges that are open at one end. */
export const earliestDay = '1970-01-01';
export const latestDay = '2999-12-31';

/** A day as hash and API have it, `YYYY-MM-DD`. */
export const dayPattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

/** A time as hash and API have it, by UTC; seconds are shown nowhere. */
export const timePattern = new RegExp(
  `${dayPattern.source.slice(0, -1)}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?Z$`,
);
export const dayOrTimePattern = new RegExp(`${dayPattern.source}|${timePattern.source}`);

/** A range of days as parameters of the API, which wants both ends; none when neither is given. */
export function daysParams({ from, to }: { from?: string | undefined; to?: string | undefined }): {
  from?: string;
  to?: string;
} {
  if (from === undefined && to === undefined) return {};
  return { from: from ?? earliestDay, to: to ?? latestDay };
}

/** Days from the first to the last, both included. */
export type DayRange = { readonly from: string; readonly to: string };

/** All days that records may have. */
export const allDays: DayRange = { from: earliestDay, to: latestDay };

/** A day of a month `YYYY-MM`. */
export function dayOf(month: string, date: number): string {
  return `${month}-${String(date).padStart(2, '0')}`;
}

/** The day by UTC so many days after a day or a moment. */
export function dayAfter(at: string | number, days: number): string {
  return new Date(new Date(at).getTime() + days * dayMillis).toISOString().slice(0, 10);
}

/** The month so many months after this one; both are `YYYY-MM`. */
export function monthAfter(month: string, count: number): string {
  const at = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + count));
  return at.toISOString().slice(0, 7);
}

/** A chart of more months says nothing. */
const mostMonths = 1200;

/** The months from the first to the last, both included. */
export function monthsBetween(first: string, last: string): string[] {
  const months: string[] = [];
  for (let month = first; month <= last && months.length < mostMonths; ) {
    months.push(month);
    month = monthAfter(month, 1);
  }
  return months;
}

/** The first and the last day, both included; without both it is all days. */
export type Days = { readonly from?: string | undefined; readonly to?: string | undefined };
