import { ActionIcon, Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { RetryJob } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { CloseIcon } from '../../ui/icons.tsx';
import classes from '../../ui/jobs.module.css';
import { reasonOf } from '../../ui/outage.ts';
import { notify } from '../../ui/toasts.tsx';
import { failureWords, shortId } from '../../ui/words.ts';
import { jobsKey } from '../delivery/use-delivery.ts';
import { isOpen, type Jobs } from './use-dead-letters.ts';

/** One line for each bulk retry: how far it is, pause, resume and cancel. */
export function JobsStrip({ jobs }: { jobs: Jobs }): ReactNode {
  if (jobs.shown.length === 0) return null;
  return (
    <section className={classes.strip} aria-label="Bulk retries">
      {jobs.shown.map((job) => (
        <JobLine key={job.id} job={job} onDismiss={() => jobs.dismiss(job.id)} />
      ))}
    </section>
  );
}

function JobLine({ job, onDismiss }: { job: RetryJob; onDismiss: () => void }): ReactNode {
  const client = useQueryClient();
  const path = `/webhook/dlq/retries/${encodeURIComponent(job.id)}`;
  const change = useMutation({
    mutationFn: (state: 'running' | 'paused' | 'cancelled') =>
      state === 'cancelled' ? api.delete(path) : api.patch<unknown>(path, { state }),
    onError: (error) => notify({ text: `The bulk retry was not changed. ${reasonOf(error)}` }),
    onSettled: () => client.invalidateQueries({ queryKey: jobsKey }),
  });
  const handled = job.rows_done + job.rows_skipped;
  const total = Math.max(job.rows_total, handled);
  const isAtWork = isOpen(job);
  return (
    <div className={classes.job} data-state={job.state}>
      <strong className={classes.state}>{stateWords[job.state]}</strong>
      <span className={classes.what}>Retry: {filterText(job)}</span>
      <progress
        className={classes.progress}
        value={total === 0 ? 1 : handled}
        max={Math.max(1, total)}
        aria-label="Progress of the bulk retry"
      />
      <span className={classes.count}>
        {formatCount(job.rows_done)} of {formatCount(total)}
        {job.rows_skipped > 0 && ` · ${formatCount(job.rows_skipped)} skipped`}
        {job.rate !== null && ` · ${formatCount(job.rate)} a second at most`}
      </span>
      <span className={classes.buttons}>
        {isAtWork ? (
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
        ) : (
          <ActionIcon size={24} aria-label="Close this line" onClick={onDismiss}>
            <CloseIcon />
          </ActionIcon>
        )}
      </span>
    </div>
  );
}

const stateWords = {
  running: 'running',
  paused: 'paused',
  completed: 'done',
  cancelled: 'cancelled',
} as const;

function filterText(job: RetryJob): string {
  const parts = [
    job.status ?? 'abandoned and pending',
    job.failure_class === null ? '' : failureWords[job.failure_class],
    job.tenant === null ? '' : `tenant ${job.tenant}`,
    job.endpoint_id === null ? '' : `endpoint ${shortId(job.endpoint_id)}`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}
