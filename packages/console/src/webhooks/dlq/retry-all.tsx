import { Button, Modal, NumberInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Page, RetryJob, RetryPreview, RetryRequest } from '../../api/types.ts';
import classes from '../../ui/form.module.css';
import { formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { Target } from '../../ui/marks.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { SkeletonText } from '../../ui/skeleton.tsx';
import { countOf, failureWords, shortId } from '../../ui/words.ts';
import { jobsKey, webhooksKey } from '../delivery/use-delivery.ts';

/** Retries all that a filter finds: first what that would be, then as a job. */
export function RetryAll(props: { request: RetryRequest | null; onClose: () => void }): ReactNode {
  const { request, onClose } = props;
  return (
    <Modal
      opened={request !== null}
      onClose={onClose}
      size={560}
      lockScroll={false}
      title="Retry all"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {request !== null && <Question request={request} onClose={onClose} />}
    </Modal>
  );
}

const mostRate = 100_000;

function Question(props: { request: RetryRequest; onClose: () => void }): ReactNode {
  const { request, onClose } = props;
  const client = useQueryClient();
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
  const start = useMutation({
    mutationFn: () =>
      api.post<RetryJob>('/webhook/dlq/retry', { ...request, ...(rate !== null && { rate }) }),
    onSuccess: (job) => {
      client.setQueryData<Page<RetryJob>>(jobsKey, (jobs) => ({
        next_cursor: null,
        ...jobs,
        data: [job, ...(jobs?.data ?? []).filter(({ id }) => id !== job.id)],
      }));
      void client.invalidateQueries({ queryKey: jobsKey });
      onClose();
    },
  });
  if (failure !== null && preview.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void preview.refetch()} />;
  }
  const count = preview.data?.count;
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (count !== undefined && count > 0) start.mutate();
      }}
    >
      <p className={classes.filterText}>{describe(request)}</p>
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
      <div className={classes.answers}>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          variant="filled"
          disabled={count === undefined || count === 0}
          loading={start.isPending}
        >
          Retry {count === undefined ? 'all' : countOf(count, 'delivery', 'deliveries')}
        </Button>
      </div>
    </form>
  );
}

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

function describe({ status, tenant, endpoint_id, failure_class }: RetryRequest): string {
  const parts = [
    status === undefined ? 'Abandoned and pending' : `Only ${status}`,
    tenant === undefined ? 'any tenant' : `tenant ${tenant}`,
    endpoint_id === undefined ? 'any endpoint' : `endpoint ${shortId(endpoint_id)}`,
    failure_class === undefined ? 'any failure' : failureWords[failure_class],
  ];
  return parts.join(' · ');
}
