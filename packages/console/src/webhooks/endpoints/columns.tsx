import type { ReactNode } from 'react';
import type { Endpoint } from '../../api/types.ts';
import { backlogText, EndpointHealth } from '../../ui/endpoint-health.tsx';
import { HoursChart, hoursText, OkShare, okShareOf } from '../../ui/hours.tsx';
import { PendingIcon } from '../../ui/icons.tsx';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { Target } from '../marks.tsx';

/** The columns of the page ENDPOINTS. */
export const endpointColumns: readonly Column<Endpoint>[] = [
  {
    id: 'tenant',
    name: 'TENANT',
    width: 88,
    card: 'line',
    cell: ({ tenant }) => <CutText text={tenant} />,
    value: ({ tenant }) => tenant,
  },
  {
    id: 'url',
    name: 'URL',
    width: 224,
    isMain: true,
    card: 'title',
    cell: ({ url }) => <Target target={url} />,
    value: ({ url }) => url,
  },
  {
    id: 'event_types',
    name: 'EVENT TYPES',
    width: 144,
    rank: 3,
    card: 'line',
    cell: ({ event_types: types }) => {
      const text = types.includes('*') ? 'all' : types.join(', ');
      return <CutText text={text} />;
    },
    value: ({ event_types: types }) => types.join(' '),
  },
  {
    id: 'health',
    name: 'HEALTH',
    width: 176,
    card: 'note',
    cell: (endpoint) => <EndpointHealth endpoint={endpoint} />,
    value: ({ health }) => health,
  },
  {
    id: 'hours',
    name: '24 H',
    width: 116,
    card: 'fact',
    cell: ({ hours }) => <HoursChart hours={hours} />,
    value: ({ hours }) => (hours === undefined ? null : hoursText(hours)),
  },
  {
    id: 'ok',
    name: 'OK',
    width: 60,
    isFigure: true,
    card: 'fact',
    cell: ({ hours }) => <OkShare hours={hours} />,
    value: ({ hours }) => okShareOf(hours),
  },
  {
    id: 'breaker',
    name: 'BREAKER',
    width: 200,
    rank: 1,
    card: 'fact',
    cell: (endpoint) => <Breaker endpoint={endpoint} />,
    value: ({ breaker }) => breaker.state,
  },
  {
    id: 'backlog',
    name: 'BACKLOG',
    width: 84,
    isFigure: true,
    card: 'fact',
    cell: ({ backlog }) => (
      <span
        className={backlog.count === 0 ? 'muted' : undefined}
        title="Deliveries that are queued or pending"
      >
        {backlogText(backlog)}
      </span>
    ),
    value: ({ backlog }) => backlog.count,
  },
  {
    id: 'rate_limit',
    name: 'RATE',
    width: 84,
    isFigure: true,
    rank: 2,
    cell: ({ rate_limit: rate }) =>
      rate === null ? <span className="muted">no limit</span> : `${rate} / s`,
    value: ({ rate_limit: rate }) => rate,
  },
];

/** Whether the endpoint is paused after many failures in a row. */
export function Breaker({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { state, failures_in_row: failures, paused_until: until } = endpoint.breaker;
  if (state === 'closed') {
    return (
      <span className={failures === 0 ? 'muted' : undefined}>
        closed{failures > 0 && ` · ${failures} failed in a row`}
      </span>
    );
  }
  return (
    <span className="word-mark warn">
      <PendingIcon />
      {state}
      {state === 'open' && until !== null && (
        <>
          {' '}
          · ends <Moment at={until} />
        </>
      )}
    </span>
  );
}
