import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { Overview } from '../api/types.ts';
import { usePolling } from '../ui/freshness.tsx';
import { pollMillis } from '../ui/poll.tsx';

/** Reads whether all is well, every 15 seconds while it can be read. */
export function useOverview(): UseQueryResult<Overview> {
  return useQuery<Overview>({
    queryKey: ['overview'],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<Overview>('/stats/overview', {}, signal),
  });
}
