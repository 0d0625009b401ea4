import type { ReactNode } from 'react';
import type { Endpoint } from '../../api/types.ts';
import {
  backlogText,
  EndpointHealth,
  HoursChart,
  hoursText,
  OkShare,
  okShareOf,
  placeOf,
  Target,
} from '../../ui/endpoint.tsx';
import { PendingIcon } from '../../ui/icons.tsx';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';

const column = columnsOf<Endpoint>();

/** Whether not all incidents of its types go to an endpoint. */
const isNarrowed = ({ stores, where }: Endpoint) => stores !== null || where !== null;

/** The columns of the page ENDPOINTS. */
export const endpointColumns: readonly Column<Endpoint>[] = [
  column.text('tenant', 'TENANT', 88, { card: 'line' }),
  column.own('url', 'URL', 224, {
    isMain: true,
    isText: true,
    card: 'title',
    cell: (endpoint) => <Target target={placeOf(endpoint)} />,
    value: placeOf,
  }),
  column.own('event_types', 'EVENT TYPES', 144, {
    rank: 3,
    card: 'line',
    cell: (endpoint) => {
      const { event_types: types } = endpoint;
      const text = types.includes('*') ? 'all' : types.join(', ');
      return <CutText text={`${text}${isNarrowed(endpoint) ? ', filtered' : ''}`} />;
    },
    value: (endpoint) =>
      `${endpoint.event_types.join(' ')}${isNarrowed(endpoint) ? ' filtered' : ''}`,
  }),
  column.own('health', 'HEALTH', 176, {
    card: 'note',
    cell: (endpoint) => <EndpointHealth endpoint={endpoint} />,
  }),
  column.own('hours', '24 H', 116, {
    card: 'fact',
    cell: ({ hours }) => <HoursChart hours={hours} />,
    value: ({ hours }) => (hours === undefined ? null : hoursText(hours)),
  }),
  column.own('ok', 'OK', 60, {
    isFigure: true,
    card: 'fact',
    cell: ({ hours }) => <OkShare hours={hours} />,
    value: ({ hours }) => okShareOf(hours),
  }),
  column.own('breaker', 'BREAKER', 200, {
    rank: 2,
    card: 'fact',
    cell: (endpoint) => <Breaker endpoint={endpoint} />,
    value: ({ breaker }) => breaker.state,
  }),
  column.own('backlog', 'WAITING', 84, {
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
  }),
  column.sentence('last_error', 'LAST ERROR', 172, {
    rank: 1,
    card: 'note',
    value: ({ last_error: last }) =>
      last == null ? null : (last.error ?? `answered ${last.status}`),
  }),
  column.own('rate_limit', 'RATE', 84, {
    isFigure: true,
    rank: 4,
    cell: ({ rate_limit: rate, type }) => {
      if (rate !== null) return `${rate} / s`;
      return <span className="muted">{type === 'pull' ? '–' : 'no limit'}</span>;
    },
    value: ({ rate_limit: rate }) => rate,
  }),
];

/** Whether the endpoint is paused after many failures in a row. */
export function Breaker({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { state, failures_in_row: failures, paused_until: until } = endpoint.breaker;
  if (endpoint.type === 'pull') return <span className="muted">–</span>;
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
      <span>
        {state}
        {state === 'open' && until !== null && (
          <>
            {' '}
            · tried <Moment at={until} />
          </>
        )}
      </span>
    </span>
  );
}
