import { dayPattern } from './days.ts';

/** Days from the first to the last, both included. */
export type DayRange = { readonly from: string; readonly to: string };

/** Ranges that have a name, as they are proposed in a field for a day. */
export const rangeNames = ['today', 'yesterday', '7d', '30d'];

/** Whether a text is the whole name of a range. Any other text may be the beginning of a longer one. */
export function isRangeName(text: string): boolean {
  return rangeNames.includes(text.trim().toLowerCase());
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  if (!dayPattern.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/**
 * Reads a range of days by UTC: today, yesterday, 7d, a day, a month as 2001-03, a quarter as 2001-q1, a year, or the first
 * and the last day with two dots between them. Null where it is none of these.
 */
export function readRange(text: string, today: Date): DayRange | null {
  const words = text.trim().toLowerCase();
  const [from = '', to = from] = words.split(/\s*\.\.\s*/);
  if (isDay(from) && isDay(to)) return from <= to ? { from, to } : null;
  const ago = (days: number) => dayOf(new Date(today.getTime() - days * 86_400_000));
  if (words === 'yesterday') return { from: ago(1), to: ago(1) };
  const [, days] = /^(\d{1,3})d$/.exec(words === 'today' ? '1d' : words) ?? [];
  if (days !== undefined) return { from: ago(Math.max(0, Number(days) - 1)), to: ago(0) };
  const [, year, quarter, month] =
    /^(19[7-9]\d|2\d{3})(?:[- ]?q([1-4])|-(0[1-9]|1[0-2]))?$/.exec(words) ?? [];
  if (year === undefined) return null;
  const first = quarter ? Number(quarter) * 3 - 3 : Number(month ?? 1) - 1;
  const count = quarter ? 3 : month ? 1 : 12;
  const ends = [Date.UTC(Number(year), first, 1), Date.UTC(Number(year), first + count, 0)];
  const [begin = '', end = ''] = ends.map((at) => dayOf(new Date(at)));
  return { from: begin, to: end };
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
