import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, type Params } from '../../api/client.ts';
import type { CountJob, RecordCount } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { formatCount } from '../../ui/format.ts';
import { calmPollMillis, neverStale, useRead } from '../../ui/poll.tsx';

/** What `CountMatches` shows. */
type Counting = ReturnType<typeof useCount>;

const path = '/enrichment/records/count';
/** While a count is under way, it is looked at so often. */
const closelyMillis = 1000;

/**
 * Counts the records that fit a filter in a job, which goes on without the page. `id` is the count that was asked for, and
 * `onId` is told of another. A count of another filter is none.
 */
export function useCount(
  filter: Params | null,
  { id, onId }: { id: string | undefined; onId: (id: string | undefined) => void },
) {
  const client = useQueryClient();
  const key = keyOf(filter);
  const queryKey = (of = '') => ['records', 'count', of];
  const keep = (job: CountJob) => {
    client.setQueryData(queryKey(job.id), job);
    onId(job.state === 'cancelled' ? undefined : job.id);
  };
  const read = useRead<CountJob>(queryKey(id), `${path}s/${id}`, {
    isWanted: filter !== null && id !== undefined,
    isOne: true,
    isAside: true,
    everyMillis: calmPollMillis,
    follow: [isOpen, closelyMillis],
  });
  const start = useAct({
    call: (asked: Params | null) => api.post<CountJob>(path, asked),
    onDone: keep,
  });
  const stop = useAct({
    call: () => api.patch<CountJob>(`${path}s/${id}`, { state: 'cancelled' }),
    failed: 'Not stopped',
    onDone: keep,
  });
  const job = read.data !== undefined && keyOf(read.data.request) === key ? read.data : undefined;
  const isAsked = keyOf(start.variables ?? null) === key;
  const failure = (isAsked ? start.error : null) ?? read.error;
  return {
    job,
    error: job?.state === 'failed' ? job.error : (failure?.message ?? null),
    isBusy: start.isPending || stop.isPending,
    start: () => start.mutate(filter),
    stop: () => stop.mutate(),
  };
}

/** The first stretch of a count: all of it, where the slice is small. */
export function useFirstStretch(filter: Params | null) {
  const from = (signal: AbortSignal) => api.get<RecordCount>(path, filter ?? {}, signal);
  return useRead<RecordCount>(['records', 'count', keyOf(filter)], from, {
    isWanted: filter !== null,
    isOne: true,
    isAside: true,
    everyMillis: null,
    staleMillis: neverStale,
  });
}

/** The same text for the same filter, whatever the order of its names. */
function keyOf(filter: Params | null): string {
  const given = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
  return given
    .map((each) => JSON.stringify(each))
    .sort()
    .join();
}

function isOpen({ finished_at: at }: CountJob): boolean {
  return at === null;
}

/** The button that counts the records that fit, and what is known of them so far. */
export function CountMatches(props: { counting: Counting; first?: RecordCount }): ReactNode {
  const { job, error, isBusy, start, stop } = props.counting;
  const known = job?.state === 'failed' ? undefined : (job ?? props.first);
  const isKnown = known !== undefined && !isOfPart(known);
  return (
    <>
      {known !== undefined && (
        <span className="push muted right nowrap" title={job?.error ?? undefined}>
          {foundText(known)}
        </span>
      )}
      {job !== undefined && isOpen(job) ? (
        <Button loading={isBusy} onClick={stop}>
          STOP
        </Button>
      ) : (
        !isKnown && (
          <Button
            loading={isBusy}
            title={error ?? 'Read all records here, and count those that fit: a job does it'}
            onClick={start}
          >
            {error !== null ? 'NOT COUNTED: TRY AGAIN' : 'COUNT'}
          </Button>
        )
      )}
    </>
  );
}

type Known = Pick<CountJob, 'count' | 'looked'> &
  (Pick<CountJob, 'state' | 'total'> | Pick<RecordCount, 'next_cursor'>);

function isOfPart(known: Known): boolean {
  return 'state' in known ? known.state !== 'completed' : known.next_cursor !== null;
}

/** `1,204 of 60,000 fit`, or while it is counted `1,204 fit so far · 41 %`. */
export function foundText(known: Known): string {
  const { count, looked } = known;
  if (!('state' in known) || !isOfPart(known)) {
    const text = `${formatCount(count)} of ${formatCount(looked)} fit`;
    return isOfPart(known) ? `${text} so far` : text;
  }
  const { state, total } = known;
  const far = state === 'running' ? `${Math.floor((100 * looked) / Math.max(1, total))} %` : state;
  return `${formatCount(count)} fit so far · ${far}`;
}
