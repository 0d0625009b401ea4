import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Page, Tag } from '../../api/types.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { calmPollMillis, noPlaceholder } from '../../ui/poll.tsx';
import type { SliceParams } from '../search.ts';

// What only reads stands by itself, because it is in the first load.

/** At most this many tags are read: half of what a tenant may have, and more than anyone reads. */
const mostTags = 500;

/** Reads the tags that touch a slice, latest first. */
export function useTags(slice: SliceParams | null, isShown: boolean): UseQueryResult<Page<Tag>> {
  return useQuery<Page<Tag>>({
    queryKey: ['records', 'tags', JSON.stringify(slice)],
    enabled: slice !== null && isShown,
    refetchInterval: usePolling(calmPollMillis),
    placeholderData: noPlaceholder,
    queryFn: ({ signal }) =>
      api.get<Page<Tag>>('/enrichment/tags', { ...slice, limit: mostTags }, signal),
  });
}
