import { Button, Modal, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { BulkJob, BulkPreview, BulkRequest, Page } from '../../api/types.ts';
import { type BulkAction, failureWords } from '../../api/values.ts';
import { useAct } from '../../ui/act.ts';
import { BulkOutcome } from '../../ui/bulk-outcome.tsx';
import { Target } from '../../ui/endpoint.tsx';
import classes from '../../ui/form.module.css';
import { ActionForm, faultText } from '../../ui/form.tsx';
import { formatAge, formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { JobLine, JobStrip } from '../../ui/job-line.tsx';
import { SkeletonText } from '../../ui/list.tsx';
import { jobHref } from '../../ui/panel-place.ts';
import { useRead } from '../../ui/poll.tsx';
import { countOf } from '../../ui/words.ts';
import { useEndpointName } from '../endpoint-names.ts';
import { jobsKey, webhooksKey } from '../query-keys.ts';
import { overlaps } from './bulk-request.ts';
import { isOpen, useJobs, useOpenJobs } from './use-dead-letters.ts';

/** What is asked for: a retry or a purge of all that a filter finds. */
export type Asked = { readonly action: BulkAction; readonly request: BulkRequest };

const words = {
  retry: {
    title: 'Retry all',
    verb: 'Retry',
    done: 'will be queued',
    skipped: 'skipped: their endpoint is disabled',
    rate: 'So that receivers which have just come back are spared. Empty: no limit',
    usualRate: 50,
  },
  purge: {
    title: 'Purge all',
    verb: 'Discard',
    done: 'will be discarded for good',
    skipped: 'left alone: their tenants are under legal hold',
    rate: 'Empty: no limit',
    usualRate: null,
  },
} as const;

/** Retries or purges everything that a filter finds: first shows what that would be, then starts a job. */
export function BulkDialog(props: { asked: Asked | null; onClose: () => void }): ReactNode {
  const { asked, onClose } = props;
  return (
    <Modal
      opened={asked !== null}
      onClose={onClose}
      size={560}
      title={words[asked?.action ?? 'retry'].title}
    >
      {asked !== null && <Question {...asked} onClose={onClose} />}
    </Modal>
  );
}

/** For how long at least a dead letter was left alone that is purged. */
const ages = [
  { value: '', label: 'Any age' },
  ...[1, 7, 30, 90, 365].map((days) => ({
    value: `${days}d`,
    label: `Failed ${countOf(days, 'day')} ago or earlier`,
  })),
];

const typingMillis = 400;

/** The question before a bulk job: how many deliveries it finds, and how fast it may go. */
function Question(props: Asked & { onClose: () => void }): ReactNode {
  const { action, onClose } = props;
  const word = words[action];
  const [rate, setRate] = useState<number | null>(word.usualRate);
  const [age, setAge] = useState('');
  const [typed, setTyped] = useState('');
  const [type] = useDebouncedValue(typed.trim(), typingMillis);
  const request: BulkRequest = {
    ...props.request,
    ...(age !== '' && { older_than: age }),
    ...(type !== '' && { event_type: type }),
  };
  const preview = useRead<BulkPreview>(
    [...webhooksKey, 'preview', action, request],
    (signal) => api.post(`/webhook/dlq/${action}`, { ...request, dry_run: true }, { signal }),
    { isFresh: true },
  );
  const failure = useFailure(preview);
  const start = useStart(action, onClose);
  const nameOf = useEndpointName();
  if (failure !== null && preview.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void preview.refetch()} />;
  }
  const count = preview.data?.count;
  return (
    <ActionForm
      call={start}
      onSend={() => start.mutate({ ...request, ...(rate !== null && { rate }) })}
      isReady={count !== undefined && count > 0 && type === typed.trim()}
      isGrave={action === 'purge'}
      button={`${word.verb} ${count === undefined ? 'all' : countOf(count, 'delivery', 'deliveries')}`}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <p className="muted break">{describe(request, nameOf)}</p>
      <OpenJobsOf request={request} />
      <TextInput
        label="Event type"
        description="Such as incident.created, incident.*. Empty: any"
        maxLength={128}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {action === 'purge' && (
        <NativeSelect
          label="Age"
          data={ages}
          value={age}
          onChange={(event) => setAge(event.currentTarget.value)}
        />
      )}
      <p className={classes.preview} role="status">
        {preview.data === undefined ? (
          <SkeletonText width="240px" />
        ) : (
          <>
            <strong>{countOf(preview.data.count, 'delivery', 'deliveries')}</strong> {word.done}
            {preview.data.skipped > 0 && ` · ${formatCount(preview.data.skipped)} ${word.skipped}`}
            {rate !== null &&
              preview.data.count > rate &&
              ` · in about ${formatAge((1000 * preview.data.count) / rate)}`}
          </>
        )}
      </p>
      <PreviewGroups preview={preview.data} />
      <NumberInput
        label="Rate, rows a second at most"
        description={word.rate}
        placeholder="no limit"
        min={1}
        max={100_000}
        value={rate ?? ''}
        onChange={(value) => setRate(typeof value === 'number' ? value : null)}
        error={faultText(start.error)}
      />
      {action === 'purge' && (
        <p className="muted">
          They are never sent, and no retry brings them back. The stored answers go at once, and
          payloads, unless another delivery of the incident still needs them.
        </p>
      )}
    </ActionForm>
  );
}

/** The jobs that have not ended and have some of what is asked for: to resume one is mostly what is wanted. */
function OpenJobsOf({ request }: { request: BulkRequest }): ReactNode {
  return useOpenJobs()
    .filter((job) => overlaps(job, request))
    .map((job) => (
      <p key={job.id} className="warning" role="status">
        <WarningIcon />
        <span>
          A bulk {job.action} of these, or of some of them, is{' '}
          <a href={jobHref(job.id)}>{job.state} already</a>: {countText(job)}
        </span>
      </p>
    ));
}

/** Starts a bulk job, and shows its line at once. `failed` is how a message begins that tells of a failure. */
function useStart(action: BulkAction, onStarted: () => void, failed?: string) {
  const client = useQueryClient();
  return useAct({
    call: (request: BulkRequest) => api.post<BulkJob>(`/webhook/dlq/${action}`, request),
    onDone: (job) => {
      client.setQueryData<Page<BulkJob>>(jobsKey, (jobs) => ({
        next_cursor: null,
        ...jobs,
        data: [job, ...(jobs?.data ?? []).filter(({ id }) => id !== job.id)],
      }));
      onStarted();
    },
    changes: jobsKey,
    ...(failed !== undefined && { failed }),
  });
}

/** What the job would find, by endpoint and failure class. */
function PreviewGroups({ preview }: { preview: BulkPreview | undefined }): ReactNode {
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

/** The filters of a bulk job in words. An endpoint is of one tenant, which its name tells. */
function describe(request: BulkRequest, nameOf: (endpoint: string) => string): string {
  const { status, tenant, endpoint_id: endpoint, failure_class: failure } = request;
  const parts = [
    status === undefined ? 'Abandoned and pending' : `Only ${status}`,
    ...(endpoint === undefined
      ? [tenant === undefined ? 'any tenant' : `tenant ${tenant}`, 'any endpoint']
      : [nameOf(endpoint)]),
    failure === undefined ? 'any failure' : (failureWords[failure] ?? failure),
  ];
  return parts.join(' · ');
}

/** One line for each bulk job: how far it is, with buttons to pause, resume and cancel it. */
export function JobsStrip(): ReactNode {
  const jobs = useJobs();
  if (jobs.shown.length === 0) return null;
  return (
    <JobStrip label="Bulk jobs">
      {jobs.shown.map((job) => (
        <BulkLine key={job.id} job={job} onDismiss={() => jobs.dismiss(job.id)} />
      ))}
    </JobStrip>
  );
}

/** One bulk job. It can be dismissed once it has ended. */
function BulkLine({ job, onDismiss }: { job: BulkJob; onDismiss: () => void }): ReactNode {
  const path = `/webhook/dlq/jobs/${encodeURIComponent(job.id)}`;
  const change = useAct({
    call: (state: 'running' | 'paused' | 'cancelled') =>
      state === 'cancelled' ? api.delete<unknown>(path) : api.patch<unknown>(path, { state }),
    failed: 'The bulk job was not changed',
    changes: jobsKey,
  });
  const again = useStart('retry', onDismiss, 'The rest is not retried');
  const nameOf = useEndpointName();
  const isPartly = job.state === 'completed' && job.rows_left > 0;
  const handled = job.rows_done + job.rows_skipped;
  const isAtWork = isOpen(job);
  return (
    <JobLine
      state={job.state}
      {...(isPartly && { word: 'partly done' })}
      what={`${job.action === 'retry' ? 'Retry' : 'Purge'}: ${filterText(job, nameOf)}`}
      label={`Progress of the bulk ${job.action}`}
      value={handled}
      max={totalOf(job)}
      count={
        <>
          {countText(job)}
          {!isAtWork && (
            <>
              {' · '}
              <BulkOutcome job={job} />
            </>
          )}
        </>
      }
      isOpen={isAtWork}
      onDismiss={onDismiss}
      actions={
        <>
          {isPartly && (
            <Button
              size="compact-xs"
              disabled={again.isPending}
              onClick={() => again.mutate(requestOf(job))}
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

const totalOf = (job: BulkJob) => Math.max(job.rows_total, job.rows_done + job.rows_skipped);

/** How far a bulk job is: `120 of 3,000 · 2 skipped`. */
function countText(job: BulkJob): string {
  const left = `, ${formatCount(job.rows_left)} of them because their endpoint was disabled meanwhile`;
  return [
    `${formatCount(job.rows_done)} of ${formatCount(totalOf(job))}`,
    job.rows_skipped > 0
      ? ` · ${formatCount(job.rows_skipped)} ${job.action === 'retry' ? 'skipped' : 'left alone'}`
      : '',
    job.state === 'completed' && job.rows_left > 0 ? left : '',
    job.waits_for_endpoint ? ' · waits: its endpoint is disabled' : '',
    job.rate === null ? '' : ` · ${formatCount(job.rate)} a second at most`,
  ].join('');
}

/** The same bulk job once more: what it has queued is no dead letter any more. */
function requestOf(job: BulkJob): BulkRequest {
  const { status, tenant, endpoint_id, failure_class, event_type, failed_from, failed_to } = job;
  const filters = { status, tenant, endpoint_id, failure_class, event_type };
  const asked = { ...filters, failed_from, failed_to, rate: job.rate };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
}

function filterText(job: BulkJob, nameOf: (endpoint: string) => string): string {
  const parts = [
    job.status ?? 'abandoned and pending',
    job.failure_class === null ? '' : failureWords[job.failure_class],
    job.event_type ?? '',
    job.tenant === null || job.endpoint_id !== null ? '' : `tenant ${job.tenant}`,
    job.endpoint_id === null ? '' : nameOf(job.endpoint_id),
  ];
  return parts.filter((part) => part !== '').join(' · ');
}
