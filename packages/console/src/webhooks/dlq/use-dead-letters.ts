import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { BulkJob, DeadLetters, DeliveryGroup, Page } from '../../api/types.ts';
import type { DeadLetterStatus } from '../../api/values.ts';
import { isWatched } from '../../ui/bulk-outcome.tsx';
import { dayMillis } from '../../ui/days.ts';
import { useRead } from '../../ui/poll.tsx';
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
  const params = { ...filters, limit: mostRows };
  return useRead(deadLettersKey(filters), '/webhook/dlq', { params });
}

/** Reads the same by endpoint and failure class, the largest group first. */
export function useDeadLetterGroups(
  status: DeadLetterStatus,
  search: DlqSearch,
): UseQueryResult<Page<DeliveryGroup>> {
  const { tenant, endpoint } = search;
  const filters = { status, tenant, endpoint_id: endpoint };
  return useRead([...dlqKey, 'groups', filters], '/webhook/dlq/groups', {
    params: { ...filters, limit: 200, include: 'hours' },
    isWanted: search.view === 'groups',
  });
}

const runningMillis = 1_500;

/** The bulk jobs as this page shows them. `dismiss` removes the line of one that has ended. */
type Jobs = {
  /** The jobs that run, those that ended while this page was open, and the last one, for a day. */
  readonly shown: readonly BulkJob[];
  readonly dismiss: (id: string) => void;
};

function useBulkJobs(): readonly BulkJob[] {
  const query = useRead<Page<BulkJob>>(jobsKey, '/webhook/dlq/jobs', {
    params: { limit: 20 },
    follow: [({ data }) => data.some(isWatched), runningMillis],
  });
  return query.data?.data ?? noJobs;
}

const noJobs: readonly BulkJob[] = [];

/** The bulk jobs that have not ended, whoever started them. */
export const useOpenJobs = () => useBulkJobs().filter(isOpen);

/** Reads the bulk jobs, whoever started them. While one runs, they are read often, and so is the queue. */
export function useJobs(): Jobs {
  const client = useQueryClient();
  const [watched, setWatched] = useState<ReadonlySet<string>>(new Set());
  const [dismissed, setDismissed] = useState<string>();
  const jobs = useBulkJobs();
  const open = jobs.filter(isOpen).map(({ id }) => id);
  const unknown = open.filter((id) => !watched.has(id));
  if (unknown.length > 0) setWatched(new Set([...watched, ...unknown]));
  const done = JSON.stringify(jobs.map(({ rows_done, outcome }) => [rows_done, outcome?.counts]));
  const before = useRef(done);
  useEffect(() => {
    if (before.current === done) return;
    before.current = done;
    void client.invalidateQueries({ queryKey: dlqKey });
  }, [done, client]);
  return {
    shown: jobs.filter(
      (job, index) => watched.has(job.id) || (index === 0 && isNew(job, dismissed)),
    ),
    dismiss(id) {
      setWatched((all) => new Set([...all].filter((each) => each !== id)));
      setDismissed(id);
    },
  };
}

/** Whether something is still to become of the last job, or has within a day. */
function isNew({ id, outcome }: BulkJob, dismissed: string | undefined): boolean {
  if (id === dismissed || outcome === null) return false;
  const { settled_at: settled } = outcome;
  return settled === null || Date.parse(settled) > Date.now() - dayMillis;
}

/** Whether a bulk job has not ended yet. */
export function isOpen({ state }: BulkJob): boolean {
  return state === 'running' || state === 'paused';
}
