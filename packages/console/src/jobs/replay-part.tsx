import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { ListedJob, Replay } from '../api/types.ts';
import type { JobKindName } from '../api/values.ts';
import { useAct } from '../ui/act.ts';
import { BulkOutcome, isWatched } from '../ui/bulk-outcome.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatCount } from '../ui/format.ts';
import { panelHref } from '../ui/panel-place.ts';
import { useRead } from '../ui/poll.tsx';
import { followMillis } from './words.ts';

/** The kinds of jobs that can be paused, and where. */
const pausable: Readonly<Partial<Record<JobKindName, string>>> = {
  retry: '/webhook/dlq/jobs',
  purge: '/webhook/dlq/jobs',
  replay: '/webhook/replays',
};

/** PAUSE or RESUME, for a job of a kind that can be paused and has not ended. */
export function PauseButton({ job }: { job: ListedJob }): ReactNode {
  const { id, kind, state } = job;
  const path = pausable[kind];
  const change = useAct({
    call: (to: 'paused' | 'running') =>
      api.patch(`${path}/${encodeURIComponent(id)}`, { state: to }),
    failed: `Not changed: ${id}`,
    changes: (client) => client.invalidateQueries(),
  });
  if (path === undefined || (state !== 'running' && state !== 'paused')) return null;
  return (
    <Button
      loading={change.isPending}
      onClick={() => change.mutate(state === 'paused' ? 'running' : 'paused')}
    >
      {state === 'paused' ? 'RESUME' : 'PAUSE'}
    </Button>
  );
}

/** What became of the deliveries of a replay, and where they go. */
export function ReplayFacts({ job }: { job: ListedJob }): ReactNode {
  const { id, state } = job;
  const replay = useRead<Replay>(
    ['jobs', 'replay', id, state],
    `/webhook/replays/${encodeURIComponent(id)}`,
    { isOne: true, follow: [isWatched, followMillis] },
  );
  const { data } = replay;
  if (data === undefined) return null;
  const { endpoint_id: endpoint } = data;
  return (
    <Facts
      facts={{
        endpoint: (
          <a href={panelHref('/endpoints', { kind: 'endpoint', id: endpoint })}>{endpoint}</a>
        ),
        'came of it': <BulkOutcome job={{ ...data, action: 'replay' }} />,
        'webhook-ids': data.ids === 'same' ? 'the same' : undefined,
        types: data.event_types?.join(', '),
        filters: data.filters === 'ignore' ? 'ignored' : undefined,
        rate: data.rate === null ? undefined : `${formatCount(data.rate)} a second at most`,
        waits: data.waits_for_endpoint
          ? 'its endpoint is disabled'
          : data.waits_for_room
            ? 'too much waits for its endpoint: it goes on once less does'
            : undefined,
      }}
    />
  );
}
