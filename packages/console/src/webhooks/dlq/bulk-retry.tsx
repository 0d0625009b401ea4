import { Button, Modal, NumberInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Page, RetryJob, RetryPreview, RetryRequest } from '../../api/types.ts';
import { failureWords } from '../../api/values.ts';
import { useAct } from '../../ui/act.ts';
import classes from '../../ui/form.module.css';
import { ActionForm } from '../../ui/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { JobLine, JobStrip } from '../../ui/job-line.tsx';
import { SkeletonText } from '../../ui/list.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { notify } from '../../ui/toasts.tsx';
import { countOf, shortId } from '../../ui/words.ts';
import { Target } from '../marks.tsx';
import { jobsKey, webhooksKey } from '../query-keys.ts';
import { isOpen, type Jobs } from './use-dead-letters.ts';

/** Retries everything that a filter finds: first shows what that would be, then starts a job. */
export function RetryAll(props: { request: RetryRequest | null; onClose: () => void }): ReactNode {
  const { request, onClose } = props;
  return (
    <Modal opened={request !== null} onClose={onClose} size={560} title="Retry all">
      {request !== null && <Question request={request} onClose={onClose} />}
    </Modal>
  );
}

const mostRate = 100_000;

/** The question before a bulk retry: how many deliveries it finds, and how fast it may go. */
function Question(props: { request: RetryRequest; onClose: () => void }): ReactNode {
  const { request, onClose } = props;
  const [rate, setRate] = useState<number | null>(null);
  const preview = useQuery<RetryPreview>({
    queryKey: [...webhooksKey, 'preview', request],
    staleTime: 0,
    gcTime: 0,
    placeholderData: () => undefined,
    refetchInterval: false,
    queryFn: ({ signal }) =>
      api.post<RetryPreview>('/webhook/dlq/retry', { ...request, dry_run: true }, { signal }),
  });
  const failure = useFailure(preview);
  const start = useStart(onClose);
  if (failure !== null && preview.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void preview.refetch()} />;
  }
  const count = preview.data?.count;
  return (
    <ActionForm
      call={start}
      onSend={() => start.mutate({ ...request, ...(rate !== null && { rate }) })}
      isReady={count !== undefined && count > 0}
      button={`Retry ${count === undefined ? 'all' : countOf(count, 'delivery', 'deliveries')}`}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <p className="muted">{describe(request)}</p>
      <p className={classes.preview} role="status">
        {preview.data === undefined ? (
          <SkeletonText width="240px" />
        ) : (
          <>
            <strong>{countOf(preview.data.count, 'delivery', 'deliveries')}</strong> will be queued
            {preview.data.skipped > 0 &&
              ` · ${formatCount(preview.data.skipped)} skipped: their endpoint is disabled`}
          </>
        )}
      </p>
      <PreviewGroups preview={preview.data} />
      <NumberInput
        label="Rate, rows a second at most"
        description="Empty: as fast as it goes. To spare receivers that have just come back."
        placeholder="no limit"
        min={1}
        max={mostRate}
        allowDecimal={false}
        allowNegative={false}
        hideControls
        value={rate ?? ''}
        onChange={(value) => setRate(typeof value === 'number' ? value : null)}
        error={start.error === null ? null : reasonOf(start.error)}
      />
    </ActionForm>
  );
}

/** Starts a bulk retry, and shows its line at once. */
function useStart(onStarted: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: RetryRequest) => api.post<RetryJob>('/webhook/dlq/retry', request),
    onSuccess: (job) => {
      client.setQueryData<Page<RetryJob>>(jobsKey, (jobs) => ({
        next_cursor: null,
        ...jobs,
        data: [job, ...(jobs?.data ?? []).filter(({ id }) => id !== job.id)],
      }));
      void client.invalidateQueries({ queryKey: jobsKey });
      onStarted();
    },
  });
}

/** What the retry would find, by endpoint and failure class. */
function PreviewGroups({ preview }: { preview: RetryPreview | undefined }): ReactNode {
  return (
    <div className={classes.previewGroups}>
      <table>
        <tbody>
          {preview?.groups.map(({ endpoint_id, target, failure_class, count }) => (
            <tr key={`${endpoint_id} ${failure_class}`}>
              <td>{formatCount(count)}</td>
              <td>
                <Target target={target} />
              </td>
              <td>{failureWords[failure_class]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The filters of a bulk retry in words. */
function describe({ status, tenant, endpoint_id, failure_class }: RetryRequest): string {
  const parts = [
    status === undefined ? 'Abandoned and pending' : `Only ${status}`,
    tenant === undefined ? 'any tenant' : `tenant ${tenant}`,
    endpoint_id === undefined ? 'any endpoint' : `endpoint ${shortId(endpoint_id)}`,
    failure_class === undefined ? 'any failure' : failureWords[failure_class],
  ];
  return parts.join(' · ');
}

/** One line for each bulk retry: how far it is, with buttons to pause, resume and cancel it. */
export function JobsStrip({ jobs }: { jobs: Jobs }): ReactNode {
  if (jobs.shown.length === 0) return null;
  return (
    <JobStrip label="Bulk retries">
      {jobs.shown.map((job) => (
        <RetryLine key={job.id} job={job} onDismiss={() => jobs.dismiss(job.id)} />
      ))}
    </JobStrip>
  );
}

/** One bulk retry. It can be dismissed once it has ended. */
function RetryLine({ job, onDismiss }: { job: RetryJob; onDismiss: () => void }): ReactNode {
  const path = `/webhook/dlq/retries/${encodeURIComponent(job.id)}`;
  const change = useAct({
    call: (state: 'running' | 'paused' | 'cancelled') =>
      state === 'cancelled' ? api.delete<unknown>(path) : api.patch<unknown>(path, { state }),
    failed: 'The bulk retry was not changed',
    changes: jobsKey,
  });
  const again = useStart(onDismiss);
  const isPartly = job.state === 'completed' && job.rows_left > 0;
  const handled = job.rows_done + job.rows_skipped;
  const total = Math.max(job.rows_total, handled);
  const isAtWork = isOpen(job);
  return (
    <JobLine
      state={job.state}
      word={isPartly ? 'partly done' : stateWords[job.state]}
      what={`Retry: ${filterText(job)}`}
      label="Progress of the bulk retry"
      value={total === 0 ? 1 : handled}
      max={total}
      count={countText(job, total)}
      onDismiss={isAtWork ? undefined : onDismiss}
      actions={
        <>
          {isPartly && (
            <Button
              size="compact-xs"
              disabled={again.isPending}
              onClick={() =>
                again.mutate(requestOf(job), {
                  onError: (error) =>
                    notify({ text: `The rest is not retried. ${reasonOf(error)}` }),
                })
              }
            >
              Retry the rest
            </Button>
          )}
          {isAtWork && (
            <>
              <Button
                size="compact-xs"
                disabled={change.isPending}
                onClick={() => change.mutate(job.state === 'running' ? 'paused' : 'running')}
              >
                {job.state === 'running' ? 'Pause' : 'Resume'}
              </Button>
              <Button
                size="compact-xs"
                disabled={change.isPending}
                onClick={() => change.mutate('cancelled')}
              >
                Cancel
              </Button>
            </>
          )}
        </>
      }
    />
  );
}

/** How far a bulk retry is: `120 of 3,000 · 2 skipped`. */
function countText(job: RetryJob, total: number): string {
  const left = `, ${formatCount(job.rows_left)} of them because their endpoint was disabled meanwhile`;
  return [
    `${formatCount(job.rows_done)} of ${formatCount(total)}`,
    job.rows_skipped > 0 ? ` · ${formatCount(job.rows_skipped)} skipped` : '',
    job.state === 'completed' && job.rows_left > 0 ? left : '',
    job.waits_for_endpoint ? ' · waits: its endpoint is disabled' : '',
    job.rate === null ? '' : ` · ${formatCount(job.rate)} a second at most`,
  ].join('');
}

const stateWords = {
  running: 'running',
  paused: 'paused',
  completed: 'done',
  cancelled: 'cancelled',
} as const;

/** The same bulk retry once more: what it has queued is no dead letter any more. */
function requestOf(job: RetryJob): RetryRequest {
  const { status, tenant, endpoint_id, failure_class, failed_from, failed_to, rate } = job;
  const asked = { status, tenant, endpoint_id, failure_class, failed_from, failed_to, rate };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
}

function filterText(job: RetryJob): string {
  const parts = [
    job.status ?? 'abandoned and pending',
    job.failure_class === null ? '' : failureWords[job.failure_class],
    job.tenant === null ? '' : `tenant ${job.tenant}`,
    job.endpoint_id === null ? '' : `endpoint ${shortId(job.endpoint_id)}`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}
