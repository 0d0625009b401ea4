import { dayAfter, dayOf, daysIn } from './days.ts';

/** Months from the first to the last, with their first and last day. */
export type MonthSpan = {
  readonly months: readonly string[];
  readonly from: string;
  readonly to: string;
};

/** All days of a month `YYYY-MM`, as `YYYY-MM-DD`. */
export function daysOfMonth(month: string): string[] {
  return Array.from({ length: daysIn(month) }, (_, index) => dayOf(month, index + 1));
}

/** The weekday of a day: 0 for Monday to 6 for Sunday. */
export function weekdayOf(day: string): number {
  return (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
}

/** The days of a month by weeks that begin on Monday; the first and the last may be short. */
export function weeksOf(days: readonly string[]): string[][] {
  const weeks: string[][] = [];
  for (const day of days) {
    if (weeks.length === 0 || weekdayOf(day) === 0) weeks.push([]);
    weeks.at(-1)?.push(day);
  }
  return weeks;
}

/** The day to which a key moves from this one; undefined when the key means nothing here. */
export function dayAfterKey(key: string, day: string, span: MonthSpan): string | undefined {
  const month = day.slice(0, 7);
  const date = Number(day.slice(8));
  const to = (target: string) =>
    target < span.from ? span.from : target > span.to ? span.to : target;
  const inMonth = (steps: number) => {
    const other = span.months[span.months.indexOf(month) + steps];
    const kept = other ?? (steps < 0 ? span.months[0] : span.months.at(-1)) ?? month;
    return dayOf(kept, Math.min(date, daysIn(kept)));
  };
  const targets: Readonly<Record<string, () => string>> = {
    ArrowLeft: () => to(dayAfter(day, -1)),
    ArrowRight: () => to(dayAfter(day, 1)),
    ArrowUp: () => to(dayAfter(day, -7)),
    ArrowDown: () => to(dayAfter(day, 7)),
    PageUp: () => inMonth(-1),
    PageDown: () => inMonth(1),
    Home: () => dayOf(month, 1),
    End: () => dayOf(month, daysIn(month)),
  };
  return targets[key]?.();
}
