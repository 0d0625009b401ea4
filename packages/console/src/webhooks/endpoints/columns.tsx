import type { ReactNode } from 'react';
import type { Endpoint } from '../../api/types.ts';
import { targetText } from '../../api/values.ts';
import {
  backlogText,
  EndpointHealth,
  HoursChart,
  healthText,
  hoursText,
  OkShare,
  okShareOf,
  Target,
} from '../../ui/endpoint.tsx';
import { PendingIcon } from '../../ui/icons.tsx';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { EnableButton } from './enable-button.tsx';

const column = columnsOf<Endpoint>();

/** What an endpoint is called, before where it is. */
const namedPlaceOf = ({ name, url }: Endpoint) =>
  name === null ? targetText(url) : `${name} · ${targetText(url)}`;

/** Whether not all incidents of its types go to an endpoint. */
const isNarrowed = ({ stores, where }: Endpoint) => stores !== null || where !== null;

function typesText(endpoint: Endpoint): string {
  const { event_types: types } = endpoint;
  const text = types.includes('*') ? 'all' : types.join(', ');
  return `${text}${isNarrowed(endpoint) ? ', filtered' : ''}`;
}

/** What stands before the words, as letters. */
const mark = '   ';

/** The columns of the page ENDPOINTS. */
export const endpointColumns: readonly Column<Endpoint>[] = [
  column.text('tenant', 'TENANT', 88, { card: 'line' }),
  column.own('url', 'URL', 224, {
    isMain: true,
    isText: true,
    card: 'title',
    cell: (endpoint) => <Target target={namedPlaceOf(endpoint)} />,
    value: namedPlaceOf,
  }),
  column.own('event_types', 'EVENT TYPES', 144, {
    rank: 4,
    card: 'line',
    cell: (endpoint) => <CutText text={typesText(endpoint)} />,
    shown: typesText,
    value: (endpoint) =>
      `${endpoint.event_types.join(' ')}${isNarrowed(endpoint) ? ' filtered' : ''}`,
  }),
  column.own('health', 'HEALTH', 176, {
    card: 'note',
    cell: (endpoint) => <EndpointHealth endpoint={endpoint} />,
    shown: (endpoint) => `${mark}${healthText(endpoint)}`,
  }),
  column.own('hours', '24 H', 116, {
    rank: 2,
    card: 'fact',
    cell: ({ hours }) => <HoursChart hours={hours} />,
    value: ({ hours }) => (hours === undefined ? null : hoursText(hours)),
  }),
  column.own('ok', 'OK', 64, {
    isFigure: true,
    card: 'fact',
    cell: ({ hours }) => <OkShare hours={hours} />,
    value: ({ hours }) => okShareOf(hours),
  }),
  column.own('breaker', 'BREAKER', 152, {
    rank: 3,
    card: 'fact',
    cell: (endpoint) => <Breaker endpoint={endpoint} />,
    shown: (endpoint) =>
      breakerOf(endpoint) === 'open' ? `${mark}open, tries in 10 min` : 'closed',
    value: breakerOf,
  }),
  column.own('backlog', 'WAITING', 72, {
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
    rank: 5,
    cell: ({ rate_limit: rate, type }) => {
      if (rate !== null) return `${rate} / s`;
      return <span className="muted">{type === 'pull' ? '–' : 'no limit'}</span>;
    },
    value: ({ rate_limit: rate }) => rate,
  }),
  column.action(
    96,
    (endpoint, tabIndex) =>
      !endpoint.enabled &&
      !endpoint.backlog.is_discarding && <EnableButton endpoint={endpoint} tabIndex={tabIndex} />,
  ),
];

/** The state of the breaker; null where nothing is sent, so that it means nothing. */
function breakerOf({ type, enabled, breaker }: Endpoint): Endpoint['breaker']['state'] | null {
  return enabled && type === 'push' ? breaker.state : null;
}

/** Whether the endpoint is paused after many failures in a row, and when a delivery is tried again. */
function Breaker({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const state = breakerOf(endpoint);
  const { paused_until: until } = endpoint.breaker;
  if (state === null || state === 'closed') return <span className="muted">{state ?? '–'}</span>;
  return (
    <span className="word-mark warn" title="Then one delivery is tried">
      <PendingIcon />
      <span>
        {state}
        {state === 'open' && until !== null && (
          <>
            , tries <Moment at={until} />
          </>
        )}
      </span>
    </span>
  );
}
