import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { Overview, ServiceStatus } from '../api/types.ts';
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

/** Reads how the service itself is, which only those are told who may see all of it. */
export function useServiceStatus(isTold: boolean): UseQueryResult<ServiceStatus> {
  return useQuery<ServiceStatus>({
    queryKey: ['status'],
    enabled: isTold,
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<ServiceStatus>('/status', {}, signal),
  });
}
