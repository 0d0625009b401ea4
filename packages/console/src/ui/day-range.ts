import { earliestDay, isDay, latestDay } from './days.ts';

/** Days from the first to the last, both included. */
export type DayRange = { readonly from: string; readonly to: string };

/** Ranges that have a name, as a person may type or choose it in a field for a day. */
const named: Readonly<Record<string, (today: Date) => readonly [Date, Date]>> = {
  today: (today) => [today, today],
  yesterday: (today) => [shifted(today, -1), shifted(today, -1)],
  'last 7 days': (today) => [shifted(today, -6), today],
  'last 30 days': (today) => [shifted(today, -29), today],
  'this month': (today) => monthsFrom(today.getUTCFullYear(), today.getUTCMonth(), 1),
  'last month': (today) => monthsFrom(today.getUTCFullYear(), today.getUTCMonth() - 1, 1),
  'this quarter': (today) => quarterOf(today, 0),
  'last quarter': (today) => quarterOf(today, -1),
};
export const rangeNames = Object.keys(named);

/** Whether a text is the whole name of a range. Any other text may be the beginning of a longer one. */
export function isRangeName(text: string): boolean {
  return Object.hasOwn(named, wordsOf(text));
}

/**
 * Reads a range of days by UTC: a name such as yesterday, 7d, a day, a month as 2001-03, a quarter as 2001-q1, a year, or
 * the first and the last day with two dots between them. Null where it is none of these.
 */
export function readRange(text: string, today: Date): DayRange | null {
  const words = wordsOf(text);
  const byName = Object.hasOwn(named, words) ? named[words] : undefined;
  if (byName !== undefined) return rangeOf(byName(today));
  const [, first = '', last = ''] = /^(\S+)\s*\.\.\s*(\S+)$/.exec(words) ?? [];
  if (isDay(first) && isDay(last)) return first <= last ? { from: first, to: last } : null;
  if (isDay(words)) return { from: words, to: words };
  const [, days] = /^(\d{1,3})d$/.exec(words) ?? [];
  if (days !== undefined) return rangeOf([shifted(today, 1 - Math.max(1, Number(days))), today]);
  const [, year, quarter, month] =
    /^(19[7-9]\d|2\d{3})(?:[- ]?q([1-4])|-(0[1-9]|1[0-2]))?$/.exec(words) ?? [];
  if (year === undefined) return null;
  if (quarter !== undefined) return rangeOf(monthsFrom(Number(year), Number(quarter) * 3 - 3, 3));
  if (month !== undefined) return rangeOf(monthsFrom(Number(year), Number(month) - 1, 1));
  return rangeOf(monthsFrom(Number(year), 0, 12));
}

function wordsOf(text: string): string {
  return text.trim().toLowerCase().replace(/\s+/g, ' ');
}

function rangeOf([from, to]: readonly [Date, Date]): DayRange | null {
  const range = { from: from.toISOString().slice(0, 10), to: to.toISOString().slice(0, 10) };
  return range.from < earliestDay || range.to > latestDay ? null : range;
}

function shifted(day: Date, days: number): Date {
  return new Date(day.getTime() + days * 86_400_000);
}

function monthsFrom(year: number, month: number, count: number): readonly [Date, Date] {
  return [new Date(Date.UTC(year, month, 1)), new Date(Date.UTC(year, month + count, 0))];
}

function quarterOf(today: Date, shift: number): readonly [Date, Date] {
  const first = Math.floor(today.getUTCMonth() / 3) * 3 + shift * 3;
  return monthsFrom(today.getUTCFullYear(), first, 3);
}
