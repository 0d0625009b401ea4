import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { Notice, NotifyTarget, Page } from '../api/types.ts';
import { usePolling } from '../ui/freshness.tsx';
import { pollMillis } from '../ui/poll.tsx';
import { accessKey } from './use-access.ts';

/** The query key of everything about notices. */
export const noticesKey = [...accessKey, 'notices'] as const;

/** Reads who is told. */
export function useTargets(): UseQueryResult<{ data: NotifyTarget[] }> {
  return useQuery<{ data: NotifyTarget[] }>({
    queryKey: [...noticesKey, 'targets'],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<{ data: NotifyTarget[] }>('/notify/targets', undefined, signal),
  });
}

const mostShown = 100;

/** Reads what was told lately. */
export function useNotices(): UseQueryResult<Page<Notice>> {
  return useQuery<Page<Notice>>({
    queryKey: [...noticesKey, 'told'],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<Page<Notice>>('/notify/notices', { limit: mostShown }, signal),
  });
}
