import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetRow, Page } from '../../api/types.ts';
import { levelOf, type NodePath, nodeKey } from '../node.ts';
import { noPlaceholder, usePoll } from '../use-poll.ts';
import { type MonthCount, sumByMonth } from './month-series.ts';

/** The counters of one node; null when nothing is there any more. */
export function useFacts(path: NodePath | null): UseQueryResult<DatasetRow | null> {
  const level = path === null ? 'tenant' : levelOf(path);
  return useQuery({
    queryKey: ['records', 'facts', path === null ? null : nodeKey(path)],
    enabled: path !== null,
    refetchInterval: usePoll(),
    // The facts of another node are not these facts.
    placeholderData: noPlaceholder,
    queryFn: async ({ signal }) => {
      const include = level === 'month' ? { include: 'days' } : {};
      const params = { ...path, level, ...include, limit: 1 };
      const page = await api.get<Page<DatasetRow>>('/enrichment/datasets', params, signal);
      return page.data[0] ?? null;
    },
  });
}

/** 5,000 leaves; beyond that, a chart is not worth the requests. */
const maxPages = 10;

/** Records per month below a tenant or a store; null when there are too many leaves to add up. */
export function useMonths(
  path: NodePath,
  digest: string | undefined,
): UseQueryResult<MonthCount[] | null> {
  return useQuery({
    // With the digest: read again when something changed, and only then.
    queryKey: ['records', 'months', nodeKey(path), digest],
    enabled: digest !== undefined && levelOf(path) !== 'month',
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before, query) => (query?.queryKey[2] === nodeKey(path) ? before : undefined),
    queryFn: async ({ signal }) => {
      const rows: DatasetRow[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < maxPages; page += 1) {
        const params = { ...path, level: 'month', limit: 500, ...(cursor ? { cursor } : {}) };
        const answer: Page<DatasetRow> = await api.get('/enrichment/datasets', params, signal);
        rows.push(...answer.data);
        cursor = answer.next_cursor;
        if (cursor === null) return sumByMonth(rows);
      }
      return null;
    },
  });
}
