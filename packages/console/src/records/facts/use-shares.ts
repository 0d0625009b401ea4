import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { RecordFacts } from '../../api/types.ts';
import type { SliceParams } from '../search.ts';
import { noPlaceholder } from '../use-poll.ts';

/** Kinds, sources and models of a slice: read once a minute at most, since they may be a scan. */
export function useShares(
  slice: SliceParams | null,
  digest: string | undefined,
  isShown: boolean,
): UseQueryResult<RecordFacts> {
  return useQuery<RecordFacts>({
    queryKey: ['records', 'shares', JSON.stringify(slice), digest],
    enabled: slice !== null && digest !== undefined && isShown,
    staleTime: 60_000,
    placeholderData: noPlaceholder,
    queryFn: ({ signal }) => api.get<RecordFacts>('/enrichment/facts', { ...slice }, signal),
  });
}
