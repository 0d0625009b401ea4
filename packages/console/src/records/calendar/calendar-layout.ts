import type { UseQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetRow, DayRow, Page } from '../../api/types.ts';
import type { Bar } from '../../ui/chart/bar-picture.tsx';
import { nextMonth } from '../../ui/chart/scale.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';
import { daysIn, type NodePath, nodeKey } from '../search.ts';

/** How many years one calendar shows: at most 1,098 days. One answer of the service has up to 4,000. */
export const yearsShown = 3;

/** The months of a calendar, in their order from top to bottom, with their first and last day. */
export type CalendarSpan = {
  readonly months: readonly string[];
  readonly from: string;
  readonly to: string;
  /** The last year shown. The other fields say whether there are records before or after what is shown. */
  readonly year: number;
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
};

/**
 * The months that a calendar shows: from the first record to the last, but at most `yearsShown` years, which end with
 * the wanted one.
 */
export function spanOf(
  first: string | null,
  last: string | null,
  wanted: number | undefined,
): CalendarSpan | null {
  if (first === null || last === null) return null;
  const firstYear = Number(first.slice(0, 4));
  const lastYear = Number(last.slice(0, 4));
  const year = Math.min(lastYear, Math.max(firstYear, wanted ?? lastYear));
  const begin = Math.max(firstYear, year - yearsShown + 1);
  const start = begin === firstYear ? first.slice(0, 7) : `${begin}-01`;
  const end = year === lastYear ? last.slice(0, 7) : `${year}-12`;
  const months: string[] = [];
  for (let month = start; month <= end; month = nextMonth(month)) months.push(month);
  return {
    months,
    from: `${start}-01`,
    to: `${end}-${daysIn(end)}`,
    year,
    hasEarlier: begin > firstYear,
    hasLater: year < lastYear,
  };
}

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
export function dayAfterKey(key: string, day: string, span: CalendarSpan): string | undefined {
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
    ArrowLeft: () => to(stepDay(day, -1)),
    ArrowRight: () => to(stepDay(day, 1)),
    ArrowUp: () => to(stepDay(day, -7)),
    ArrowDown: () => to(stepDay(day, 7)),
    PageUp: () => inMonth(-1),
    PageDown: () => inMonth(1),
    Home: () => dayOf(month, 1),
    End: () => dayOf(month, daysIn(month)),
  };
  return targets[key]?.();
}

/**
 * Sums over days. `days` and `cold` count days, the others records; `most` is the busiest day, null without records.
 */
export type DaysSum = {
  readonly days: number;
  readonly count: number;
  readonly covered: number;
  readonly most: DayRow | null;
  readonly cold: number;
};

/** The sums of all days, or of those from `from` to `to`. */
export function sumDays(rows: readonly DayRow[], from = '', to = '9999'): DaysSum {
  let [days, count, covered, cold] = [0, 0, 0, 0];
  let most: DayRow | null = null;
  for (const row of rows) {
    if (row.day < from || row.day > to || row.count === 0) continue;
    days += 1;
    count += row.count;
    covered += row.covered;
    if (row.tier === 'cold') cold += 1;
    if (row.count > (most?.count ?? 0)) most = row;
  }
  return { days, count, covered, most, cold };
}

/** One entry for each day of the span, also for days without records. A chart over time needs them all. */
export function seriesOf(span: CalendarSpan, rows: ReadonlyMap<string, DayRow>): Bar[] {
  return span.months.flatMap((month) =>
    daysOfMonth(month).map((day) => ({ name: day, parts: [rows.get(day)?.count ?? 0] })),
  );
}

function stepDay(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

function dayOf(month: string, date: number): string {
  return `${month}-${String(date).padStart(2, '0')}`;
}

/** The number of days to ask for: the most that the service answers at once. A span has fewer. */
const maxDays = 4000;

/** The span that the calendar shows. Null when nothing is stored, undefined while that is not known. */
export function useSpan(
  path: NodePath | null,
  facts: DatasetRow | null | undefined,
  year: number | undefined,
): CalendarSpan | null | undefined {
  const first = path?.month ?? facts?.first_at ?? null;
  const last = path?.month ?? facts?.last_at ?? null;
  const span = useMemo(() => spanOf(first, last, year), [first, last, year]);
  return span === null && facts === undefined ? undefined : span;
}

/** Reads the days of a span that have records. */
export function useDays(
  path: NodePath | null,
  span: CalendarSpan | null | undefined,
  isShown: boolean,
): UseQueryResult<DayRow[]> {
  const range = !span ? null : `${span.from} ${span.to}`;
  const read = async (signal: AbortSignal) => {
    const { tenant, store } = path ?? { tenant: '' };
    const params = { tenant, store, from: span?.from, to: span?.to, limit: maxDays };
    return (await api.get<Page<DayRow>>('/enrichment/days', params, signal)).data;
  };
  return useRead(['records', 'days', path === null ? null : nodeKey(path), range], read, {
    isWanted: path !== null && range !== null && isShown,
    everyMillis: calmPollMillis,
    isOne: true,
  });
}
