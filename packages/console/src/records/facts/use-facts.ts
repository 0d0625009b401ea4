import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api, readPages } from '../../api/client.ts';
import type { DatasetRow, Page } from '../../api/types.ts';
import { monthsBetween } from '../../ui/days.ts';
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

/** Reads the number of records in each month of a tenant or a store; null when it has too many leaves to add up. */
export function useMonths(
  path: NodePath,
  digest: string | undefined,
): UseQueryResult<MonthCount[] | null> {
  return useQuery({
    // The digest is part of the key, so that the months are read again only when records have changed.
    queryKey: ['records', 'months', nodeKey(path), digest],
    enabled: digest !== undefined && levelOf(path) !== 'month',
    staleTime: neverStale,
    placeholderData: (before, query) => (query?.queryKey[2] === nodeKey(path) ? before : undefined),
    queryFn: async ({ signal }) => {
      const params = { ...path, level: 'month' };
      const read = await readPages<DatasetRow>('/enrichment/datasets', params, signal);
      return read.isPart ? null : sumByMonth(read.rows);
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

/** Adds up leaves by month. Months without records between the first and the last are included. */
export function sumByMonth(rows: readonly DatasetRow[]): MonthCount[] {
  const counts = new Map<string, number>();
  for (const { month, count } of rows) {
    if (month !== null) counts.set(month, (counts.get(month) ?? 0) + count);
  }
  const months = [...counts.keys()].sort();
  const [first, last] = [months[0], months.at(-1)];
  if (first === undefined || last === undefined) return [];
  return monthsBetween(first, last).map((name) => ({ name, count: counts.get(name) ?? 0 }));
}
