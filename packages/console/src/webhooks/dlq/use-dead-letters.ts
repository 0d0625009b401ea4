import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { DeadLetters, DeliveryGroup, Page, RetryJob } from '../../api/types.ts';
import type { DeadLetterStatus } from '../../api/values.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { pollMillis } from '../../ui/poll.tsx';
import { deadLettersKey, dlqKey, jobsKey } from '../query-keys.ts';
import type { DlqSearch } from '../search.ts';

/** At most this many rows of each status are on the page. */
export const mostRows = 200;

/** Reads the newest failures of one status that match the filters. */
export function useDeadLetters(
  status: DeadLetterStatus,
  search: DlqSearch,
): UseQueryResult<DeadLetters> {
  const { tenant, endpoint, failure, q } = search;
  const filters = { status, tenant, endpoint_id: endpoint, failure_class: failure, q };
  return useQuery<DeadLetters>({
    queryKey: deadLettersKey(filters),
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<DeadLetters>('/webhook/dlq', { ...filters, limit: mostRows }, signal),
  });
}

/** Reads the same by endpoint and failure class, the largest group first. */
export function useDeadLetterGroups(
  status: DeadLetterStatus,
  search: DlqSearch,
): UseQueryResult<Page<DeliveryGroup>> {
  const { tenant, endpoint } = search;
  const filters = { status, tenant, endpoint_id: endpoint };
  return useQuery<Page<DeliveryGroup>>({
    queryKey: [...dlqKey, 'groups', filters],
    enabled: search.view === 'groups',
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<Page<DeliveryGroup>>(
        '/webhook/dlq/groups',
        { ...filters, limit: 200, include: 'hours' },
        signal,
      ),
  });
}

const runningMillis = 1_500;

/** The bulk retries as this page shows them. `dismiss` removes the line of one that has ended. */
export type Jobs = {
  readonly query: UseQueryResult<Page<RetryJob>>;
  /** The jobs that run, and those that ended while this page was open. */
  readonly shown: readonly RetryJob[];
  readonly dismiss: (id: string) => void;
};

/** Reads the bulk retries, whoever started them. While one runs, they are read often, and so is the queue. */
export function useJobs(): Jobs {
  const client = useQueryClient();
  const closely = usePolling(runningMillis);
  const calmly = usePolling(pollMillis);
  const query = useQuery<Page<RetryJob>>({
    queryKey: jobsKey,
    refetchInterval: (each) => (isRunning(each.state.data) ? closely(each) : calmly(each)),
    queryFn: ({ signal }) => api.get<Page<RetryJob>>('/webhook/dlq/retries', { limit: 20 }, signal),
  });
  const [watched, setWatched] = useState<ReadonlySet<string>>(new Set());
  const jobs = query.data?.data ?? [];
  const open = jobs.filter(isOpen).map(({ id }) => id);
  const unknown = open.filter((id) => !watched.has(id));
  if (unknown.length > 0) setWatched(new Set([...watched, ...unknown]));
  const done = jobs.reduce((sum, job) => sum + job.rows_done, 0);
  const before = useRef(done);
  useEffect(() => {
    if (before.current === done) return;
    before.current = done;
    void client.invalidateQueries({ queryKey: dlqKey });
  }, [done, client]);
  return {
    query,
    shown: jobs.filter((job) => watched.has(job.id)),
    dismiss: (id) => setWatched((all) => new Set([...all].filter((each) => each !== id))),
  };
}

/** Whether a bulk retry has not ended yet. */
export function isOpen({ state }: RetryJob): boolean {
  return state === 'running' || state === 'paused';
}

function isRunning(page: Page<RetryJob> | undefined): boolean {
  return page?.data.some(({ state }) => state === 'running') ?? false;
}
