import type { UseQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetRow, DayRow, Page } from '../../api/types.ts';
import { daysIn, monthsBetween } from '../../ui/days.ts';
import type { MonthSpan } from '../../ui/month-days.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';
import { useMonths } from '../facts/use-facts.ts';
import { type NodePath, nodeKey } from '../search.ts';

/** How many years one calendar shows: at most 1,098 days. One answer of the service has up to 4,000. */
const yearsShown = 3;

/** A year with records, and how many; null where that is not known. */
type YearCount = { readonly year: number; readonly count: number | null };

/** The months of a calendar, in their order from top to bottom, with their first and last day. */
export type CalendarSpan = MonthSpan & {
  /** All years with records, the first one first. */
  readonly years: readonly YearCount[];
};

/**
 * The months that a calendar shows: those of the wanted year and of up to two years before it that follow on one another. It opens
 * where the data is: with the last year that has at least a tenth of what the fullest has.
 */
export function spanOf(
  first: string | null,
  last: string | null,
  { years = yearsBetween(first, last), wanted }: { years?: readonly YearCount[]; wanted?: number },
): CalendarSpan | null {
  if (first === null || last === null) return null;
  const most = Math.max(...years.map(({ count }) => count ?? 0));
  const full = years.findLast(({ count }) => (count ?? 0) >= most / 10)?.year;
  const sought = wanted ?? full ?? Number(last.slice(0, 4));
  const year = years.findLast((each) => each.year <= sought)?.year ?? years[0]?.year ?? sought;
  const has = (each: number) => years.some((known) => known.year === each);
  let begin = year;
  while (begin > year - yearsShown + 1 && has(begin - 1)) begin -= 1;
  const [firstMonth, lastMonth] = [first.slice(0, 7), last.slice(0, 7)];
  const start = `${begin}-01` < firstMonth ? firstMonth : `${begin}-01`;
  const end = `${year}-12` > lastMonth ? lastMonth : `${year}-12`;
  return {
    months: monthsBetween(start, end),
    from: `${start}-01`,
    to: `${end}-${daysIn(end)}`,
    years,
  };
}

/** All years from the first record to the last. */
function yearsBetween(first: string | null, last: string | null): YearCount[] {
  const [from, to] = [Number(first?.slice(0, 4)), Number(last?.slice(0, 4))];
  const length = Math.max(0, to - from + 1) || 0;
  return Array.from({ length }, (_, at) => ({ year: from + at, count: null }));
}

/** The years of months, as far as they have records. */
function yearsOf(months: readonly { name: string; count: number }[]): YearCount[] {
  const counts = new Map<number, number>();
  for (const { name, count } of months) {
    const year = Number(name.slice(0, 4));
    if (count > 0) counts.set(year, (counts.get(year) ?? 0) + count);
  }
  return [...counts].map(([year, count]) => ({ year, count }));
}

/** The number of days to ask for: the most that the service answers at once. A span has fewer. */
export const maxDays = 4000;

/** The span that the calendar shows. Null when nothing is stored, undefined while that is not known. */
export function useSpan(
  path: NodePath | null,
  facts: DatasetRow | null | undefined,
  wanted: { year: number | undefined; isShown: boolean },
): CalendarSpan | null | undefined {
  const { year, isShown } = wanted;
  const first = path?.month ?? facts?.first_at ?? null;
  const last = path?.month ?? facts?.last_at ?? null;
  const months = useMonths(path ?? { tenant: '' }, isShown ? facts?.digest : undefined);
  const isAwaited = months.isFetching && months.data === undefined;
  const span = useMemo(
    () =>
      spanOf(first, last, {
        ...(months.data && path?.month === undefined && { years: yearsOf(months.data) }),
        ...(year !== undefined && { wanted: year }),
      }),
    [first, last, year, months.data, path],
  );
  return isAwaited || (span === null && facts === undefined) ? undefined : span;
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
