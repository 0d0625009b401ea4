/** The earliest and the latest day that the API takes, for ranges that are open at one end. */
export const earliestDay = '1970-01-01';
export const latestDay = '2999-12-31';

/** A day as hash and API have it, `YYYY-MM-DD`. */
export const dayPattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

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

/** First and last day of `YYYY-MM`. */
export function monthEnds(month: string): [string, string] {
  return [`${month}-01`, `${month}-${daysIn(month)}`];
}

/** The number of days of a month `YYYY-MM`. */
export function daysIn(month: string): number {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
}

/** The first and the last day, both included; without both it is all days. */
export type Days = { readonly from?: string | undefined; readonly to?: string | undefined };
