import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, api } from '../../api/client.ts';
import { isPassing } from '../../ui/outage.ts';
import { pageSizeOf, type RecordsSearch, sliceOf } from '../search.ts';
import { usePoll } from '../use-poll.ts';
import { type RecordsPage, readRecordsPage } from './records-page.ts';

/** The page of records that the hash names. */
export function useRecords(search: RecordsSearch): UseQueryResult<RecordsPage> {
  const slice = sliceOf(search);
  const { kind, source, dataset, cursor } = search;
  const filters = JSON.stringify([slice, kind, source, dataset]);
  const last = useRef<{ filters: string; page: RecordsPage } | null>(null);
  const query = useQuery<RecordsPage>({
    queryKey: ['records', 'page', filters, cursor ?? null, pageSizeOf(search)],
    enabled: slice !== null,
    refetchInterval: usePoll(),
    // While NEXT loads, this page stays; another slice or filter begins empty.
    placeholderData: (before, query) => (query?.queryKey[2] === filters ? before : undefined),
    queryFn: async ({ signal }) => {
      const params = { ...slice, kind, source, dataset, cursor, limit: pageSizeOf(search) };
      return readRecordsPage(await api.getText('/enrichment/records', params, signal));
    },
  });
  if (query.data !== undefined) last.current = { filters, page: query.data };
  const kept = last.current?.filters === filters ? last.current.page : undefined;
  if (query.data !== undefined || kept === undefined || !isForNow(query.error)) return query;
  // A placeholder goes when the load fails; its rows must not.
  return {
    ...query,
    data: kept,
    isPlaceholderData: true,
  } as unknown as UseQueryResult<RecordsPage>;
}

/** It may succeed as soon as the service is back, or someone has signed in again. */
function isForNow(error: Error | null): boolean {
  if (error === null) return false;
  return isPassing(error) || (error instanceof ApiError && error.status === 401);
}
