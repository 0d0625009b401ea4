import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetRow, DayRow, Page } from '../../api/types.ts';
import type { NodePath } from '../node.ts';
import { nodeKey } from '../node.ts';
import { noPlaceholder, usePoll } from '../use-poll.ts';
import { type CalendarSpan, spanOf } from './calendar-layout.ts';

/** The most the service answers at once; a span has fewer days. */
const maxDays = 4000;

/** The stretch of time that the calendar shows; null: nothing is stored; undefined: not known yet. */
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

/** Days with records of a span. */
export function useDays(
  path: NodePath | null,
  span: CalendarSpan | null | undefined,
  isShown: boolean,
): UseQueryResult<DayRow[]> {
  const range = !span ? null : `${span.from} ${span.to}`;
  return useQuery<DayRow[]>({
    queryKey: ['records', 'days', path === null ? null : nodeKey(path), range],
    enabled: path !== null && range !== null && isShown,
    refetchInterval: usePoll(),
    placeholderData: noPlaceholder,
    queryFn: async ({ signal }) => {
      const { tenant, store } = path ?? { tenant: '' };
      const params = { tenant, store, from: span?.from, to: span?.to, limit: maxDays };
      const page = await api.get<Page<DayRow>>('/enrichment/days', params, signal);
      return page.data;
    },
  });
}
