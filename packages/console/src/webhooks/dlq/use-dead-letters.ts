import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DeadLetterStatus, DeadLetters, DeliveryGroup, Page } from '../../api/types.ts';
import { dlqKey } from '../delivery/calls.ts';
import type { DlqSearch } from '../search.ts';
import { pollMs, usePollOf } from '../use-poll.ts';

/** Rows of each status on the page, at most. */
export const mostRows = 200;

/** The newest failures of one status that the filters of the page leave. */
export function useDeadLetters(
  status: DeadLetterStatus,
  search: DlqSearch,
): UseQueryResult<DeadLetters> {
  const { tenant, endpoint, failure, q } = search;
  const filters = { status, tenant, endpoint_id: endpoint, failure_class: failure, q };
  return useQuery<DeadLetters>({
    queryKey: [...dlqKey, 'rows', filters],
    refetchInterval: usePollOf(pollMs),
    queryFn: ({ signal }) =>
      api.get<DeadLetters>('/webhook/dlq', { ...filters, limit: mostRows }, signal),
  });
}

/** The same by endpoint and failure class, the largest first. */
export function useDeadLetterGroups(
  status: DeadLetterStatus,
  search: DlqSearch,
): UseQueryResult<Page<DeliveryGroup>> {
  const { tenant, endpoint } = search;
  const filters = { status, tenant, endpoint_id: endpoint };
  return useQuery<Page<DeliveryGroup>>({
    queryKey: [...dlqKey, 'groups', filters],
    enabled: search.view === 'groups',
    refetchInterval: usePollOf(pollMs),
    queryFn: ({ signal }) =>
      api.get<Page<DeliveryGroup>>('/webhook/dlq/groups', { ...filters, limit: 200 }, signal),
  });
}
