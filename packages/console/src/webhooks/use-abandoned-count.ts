import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { DeadLetters } from '../api/types.ts';
import { usePolling } from '../ui/freshness.tsx';
import { noPlaceholder, pollMillis } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { deadLettersKey, dlqKey } from './query-keys.ts';

/**
 * How many deliveries are abandoned; undefined while that is not known, or not for this session to know. With
 * `isOnPage` the page WEBHOOK DLQ shows the whole queue: then the number is taken from what the page reads, which asks
 * once for each status.
 */
export function useAbandonedCount(isOnPage: boolean): number | undefined {
  const isAdmin = useSession().hasScope('admin');
  const own = useQuery<DeadLetters>({
    queryKey: [...dlqKey, 'abandoned'],
    enabled: isAdmin && !isOnPage,
    placeholderData: noPlaceholder,
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<DeadLetters>('/webhook/dlq', { status: 'abandoned', limit: 1 }, signal),
  });
  const ofPage = useQuery<DeadLetters>({
    queryKey: deadLettersKey({ status: 'abandoned' }),
    enabled: false,
    placeholderData: noPlaceholder,
    refetchInterval: false,
  });
  if (!isAdmin) return undefined;
  const newest = isOnPage ? (ofPage.data ?? own.data) : own.data;
  return newest?.total ?? undefined;
}
