import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { AccessToken, AuditEntry, Page, Session } from '../api/types.ts';
import { daysParams } from '../ui/days.ts';
import { usePolling } from '../ui/freshness.tsx';
import { pollMillis } from '../ui/poll.tsx';
import type { AccessSearch } from './search.ts';
import { entryKeyOf } from './words.ts';

/** The query key of everything about access. */
export const accessKey = ['access'] as const;

/** Reads all tokens that are not revoked. */
export function useTokens(): UseQueryResult<Page<AccessToken>> {
  return useQuery<Page<AccessToken>>({
    queryKey: [...accessKey, 'tokens'],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<Page<AccessToken>>('/tokens', undefined, signal),
  });
}

/** Reads all sessions of consoles. */
export function useSessions(): UseQueryResult<Page<Session>> {
  return useQuery<Page<Session>>({
    queryKey: [...accessKey, 'sessions'],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<Page<Session>>('/sessions', undefined, signal),
  });
}

const pageSize = 100;

/** Reads the page of the audit log that the hash names. */
export function useAudit(search: AccessSearch): UseQueryResult<Page<AuditEntry>> {
  const { actor, action, tenant, from, to, cursor } = search;
  const params = {
    actor,
    action,
    tenant,
    ...daysParams({ from, to }),
    cursor,
    limit: pageSize,
  };
  return useQuery<Page<AuditEntry>>({
    queryKey: [...accessKey, 'audit', params],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) => api.get<Page<AuditEntry>>('/audit', params, signal),
  });
}

/** As many entries as a page may have. */
const mostEntries = 500;

/**
 * Reads one entry of the audit log by its key; null when there is none, or none that the reader may see. One without a
 * place is looked for among the newest.
 */
export function useEntry(key: string): UseQueryResult<AuditEntry | null> {
  return useQuery<AuditEntry | null>({
    queryKey: [...accessKey, 'entry', key],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const isPlace = /^[1-9]\d{0,14}$/.test(key);
      const params = isPlace ? { after: Number(key) - 1, limit: 1 } : { limit: mostEntries };
      const { data } = await api.get<Page<AuditEntry>>('/audit', params, signal);
      return data.find((entry) => entryKeyOf(entry) === key) ?? null;
    },
  });
}
