import type { ReactNode } from 'react';
import type { Endpoint } from '../../api/types.ts';
import { AbandonedIcon, DeliveredIcon, DiscardedIcon, PendingIcon } from '../../ui/icons.tsx';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/rows-table.tsx';
import classes from '../../ui/table/table.module.css';
import markClasses from '../marks.module.css';
import { Target } from '../marks.tsx';
import { backlogText } from '../words.ts';

/** The columns of the page ENDPOINTS. */
export const endpointColumns: readonly Column<Endpoint>[] = [
  {
    name: 'TENANT',
    className: classes.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  { name: 'URL', className: classes.url, cell: ({ url }) => <Target target={url} /> },
  {
    name: 'EVENT TYPES',
    className: classes.event,
    cell: ({ event_types: types }) => {
      const text = types.includes('*') ? 'all' : types.join(', ');
      return <CutText text={text} />;
    },
  },
  {
    name: 'STATE',
    className: classes.endpointState,
    cell: (endpoint) => <EndpointState endpoint={endpoint} />,
  },
  {
    name: 'BREAKER',
    className: classes.breaker,
    cell: (endpoint) => <Breaker endpoint={endpoint} />,
  },
  {
    name: 'BACKLOG',
    className: classes.rate,
    cell: ({ backlog }) => (
      <span
        className={backlog.count === 0 ? markClasses.none : undefined}
        title="Deliveries that are queued or pending"
      >
        {backlogText(backlog)}
      </span>
    ),
  },
  {
    name: 'RATE',
    className: classes.rate,
    cell: ({ rate_limit: rate }) =>
      rate === null ? <span className={markClasses.none}>no limit</span> : `${rate} / s`,
  },
];

/** Whether deliveries are sent to an endpoint, as a word with a shape and a colour. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }): ReactNode {
  if (endpoint.enabled) {
    return (
      <span className={markClasses.status} data-status="delivered">
        <DeliveredIcon />
        enabled
      </span>
    );
  }
  if (endpoint.backlog.is_discarding) {
    return (
      <span className={markClasses.status} data-status="pending">
        <PendingIcon />
        discarding its backlog
      </span>
    );
  }
  const isGone = endpoint.disabled_reason === 'gone';
  return (
    <span className={markClasses.status} data-status={isGone ? 'abandoned' : 'discarded'}>
      {isGone ? <AbandonedIcon /> : <DiscardedIcon />}
      {isGone ? 'disabled: gone (410)' : 'disabled'}
    </span>
  );
}

/** Whether the endpoint is paused after many failures in a row. */
export function Breaker({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { state, failures_in_row: failures, paused_until: until } = endpoint.breaker;
  if (state === 'closed') {
    return (
      <span className={failures === 0 ? markClasses.none : undefined}>
        closed{failures > 0 && ` · ${failures} failed in a row`}
      </span>
    );
  }
  return (
    <span className={markClasses.status} data-status="pending">
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
