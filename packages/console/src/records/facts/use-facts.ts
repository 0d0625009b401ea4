import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api, readPages } from '../../api/client.ts';
import type { DatasetRow, Page } from '../../api/types.ts';
import { monthsBetween } from '../../ui/days.ts';
import { readMonthSums } from '../../ui/month-sums.tsx';
import { calmPollMillis, neverStale, useRead } from '../../ui/poll.tsx';
import { levelOf, type NodePath, nodeKey } from '../search.ts';

/** Reads the counters of one node; null when it has no records any more. */
export function useFacts(path: NodePath | null): UseQueryResult<DatasetRow | null> {
  const level = path === null ? 'tenant' : levelOf(path);
  const read = async (signal: AbortSignal) => {
    const include = level === 'month' ? { include: 'days' } : {};
    const params = { ...path, level, ...include, limit: 1 };
    const page = await api.get<Page<DatasetRow>>('/enrichment/datasets', params, signal);
    return page.data[0] ?? null;
  };
  return useRead(['records', 'facts', path === null ? null : nodeKey(path)], read, {
    isWanted: path !== null,
    everyMillis: calmPollMillis,
    isOne: true,
  });
}

/** Reads the number of records in each month of a tenant or a store. */
export function useMonths(
  path: NodePath,
  digest: string | undefined,
): UseQueryResult<MonthCount[]> {
  return useQuery({
    // The digest is part of the key, so that the months are read again only when records have changed.
    queryKey: ['records', 'months', nodeKey(path), digest],
    enabled: digest !== undefined && levelOf(path) !== 'month',
    staleTime: neverStale,
    placeholderData: (before, query) => (query?.queryKey[2] === nodeKey(path) ? before : undefined),
    queryFn: async ({ signal }) => {
      if (path.store === undefined) {
        const sums = await readMonthSums(path.tenant, signal);
        return withEmpty(
          sums.map((sum) => ({ name: sum.month, count: sum.hot_count + sum.cold_count })),
        );
      }
      const params = { ...path, level: 'month' };
      const { rows } = await readPages<DatasetRow>('/enrichment/datasets', params, signal);
      return withEmpty(rows.map(({ month, count }) => ({ name: month ?? '', count })));
    },
  });
}

/** The names of the months of a node that have records, as far as that is known; none for a month. */
export function useFullMonths(
  path: NodePath | null,
  digest: string | undefined,
): string[] | undefined {
  const months = useMonths(path ?? { tenant: '' }, path === null ? undefined : digest);
  return months.data?.flatMap(({ name, count }) => (count > 0 ? [name] : []));
}

type MonthCount = { name: string; count: number };

/** Months in their order, with those between the first and the last that have no records. */
export function withEmpty(months: readonly MonthCount[]): MonthCount[] {
  const [first, last] = [months[0], months.at(-1)];
  if (first === undefined || last === undefined) return [];
  const counts = new Map(months.map(({ name, count }) => [name, count]));
  return monthsBetween(first.name, last.name).map((name) => ({
    name,
    count: counts.get(name) ?? 0,
  }));
}
