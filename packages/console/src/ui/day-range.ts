import { quarterEnds, quarterOf } from '../api/values.ts';
import {
  type DayRange,
  dayAfter,
  dayPattern,
  earliestDay,
  latestDay,
  monthEnds,
  timePattern,
} from './days.ts';

/** Ranges that have a name. */
export const rangeNames = ['today', 'yesterday', '24h', '7d', '30d', 'month', 'quarter'];

/** Whether a text is the whole name of a range. Any other text may be the beginning of a longer one. */
export function isRangeName(text: string): boolean {
  return rangeNames.includes(text.trim().toLowerCase());
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  return dayPattern.test(text) && text <= monthEnds(text.slice(0, 7))[1];
}

/**
 * Reads a range of days by UTC: one that has a name, a day, a month as 2001-03, a quarter as 2001-Q1, a year, or the first and
 * the last day with two dots between them, of which one may be left out. Null where it is none of these.
 */
export function readRange(text: string, today: Date): DayRange | null {
  const words = text.trim().toLowerCase();
  const ends = /^(\S{10})?\s*\.\.\s*(\S{10})?$/.exec(words);
  const [, from = earliestDay, to = latestDay] = ends ?? ['', words, words];
  if (isDay(from) && isDay(to)) return from <= to && words !== '..' ? { from, to } : null;
  const ago = (days: number) => dayAfter(today.getTime(), -days);
  if (words === 'yesterday') return { from: ago(1), to: ago(1) };
  if (words === '24h') return { from: ago(1), to: ago(0) };
  const [, days] = /^(\d{1,3})d$/.exec(words === 'today' ? '1d' : words) ?? [];
  if (days !== undefined) return { from: ago(Math.max(0, Number(days) - 1)), to: ago(0) };
  if (words === 'month') return readRange(ago(0).slice(0, 7), today);
  if (words === 'quarter') return readRange(quarterOf(ago(0).slice(0, 7)), today);
  if (!/^(19[7-9]|2\d\d)\d/.test(words)) return null;
  const ofMonth = /^\d{4}-(0[1-9]|1[0-2])$/.test(words) ? monthEnds(words) : null;
  const ofYear = /^\d{4}$/.test(words) ? [`${words}-01-01`, `${words}-12-31`] : null;
  const [first, last] = ofMonth ?? ofYear ?? quarterEnds(words) ?? [];
  return first === undefined || last === undefined ? null : { from: first, to: last };
}

/** Times by UTC as the API has them, the second one excluded. */
export type Times = { readonly from: string; readonly to: string };

/**
 * Reads two times by UTC with a slash between them, as 2026-03-05T10:00/12:00, of which the second may have its own day. Null
 * where it is none of that, or the second is no later.
 */
export function readTimes(text: string): Times | null {
  const [, day, start, last = day, end] =
    /^(\S{10})[t ](\S{5})\/(?:(\S{10})[t ])?(\S{5})$/i.exec(text.trim()) ?? [];
  const [from, to] = [`${day}T${start}:00Z`, `${last}T${end}:00Z`];
  const areDays = [day, last].every((each) => each !== undefined && isDay(each));
  const areTimes = [from, to].every((each) => timePattern.test(each));
  return areDays && areTimes && from < to ? { from, to } : null;
}

/** Days as `readRange` takes them, or times as `readTimes` does, in as few letters as there are; all days are ''. */
export function rangeText({
  from = earliestDay,
  to = latestDay,
}: {
  from?: string | undefined;
  to?: string | undefined;
}): string {
  if (timePattern.test(from) && timePattern.test(to)) {
    const isOneDay = from.slice(0, 10) === to.slice(0, 10);
    return `${from.slice(0, 16)}/${to.slice(isOneDay ? 11 : 0, 16)}`;
  }
  const month = from.slice(0, 7);
  const names = [from, month, quarterOf(month), month.slice(0, 4)];
  const short = names.find((name) => {
    const range = readRange(name, new Date(0));
    return range?.from === from && range.to === to;
  });
  const all = `${from === earliestDay ? '' : from}..${to === latestDay ? '' : to}`;
  return short ?? (all === '..' ? '' : all);
}

/** The days of a range that may be chosen; null when there are none. */
export function within(range: DayRange | null, { from, to }: DayRange): DayRange | null {
  if (range === null || range.to < from || range.from > to) return null;
  return { from: range.from < from ? from : range.from, to: range.to > to ? to : range.to };
}
