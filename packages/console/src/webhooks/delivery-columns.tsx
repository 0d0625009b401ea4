import type { ReactNode } from 'react';
import type { Delivery } from '../api/types.ts';
import { Target } from '../ui/endpoint.tsx';
import { LiveButton } from '../ui/live-button.tsx';
import { CutText, Moment } from '../ui/marks.tsx';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { LastStatus, NextRetry, StatusMark, whyPaused } from './marks.tsx';

/** Says that a delivery waits because its endpoint is disabled. */
function EndpointDisabled(): ReactNode {
  return (
    <span className="muted" title="Its endpoint is disabled: it waits until that is enabled">
      · disabled
    </span>
  );
}

/** What holds a delivery up: its endpoint, or another one that goes before it. */
function Hold({ of }: { of: Delivery }): ReactNode {
  const { waits_for_endpoint: isDisabled, waits_for: first, paused_until: pause } = of;
  if (isDisabled) return <EndpointDisabled />;
  if (first === null && pause === null) return null;
  return (
    <span
      className="muted"
      title={first === null ? whyPaused : `It goes in order, and waits for ${first}`}
    >
      · {first === null ? 'paused' : 'in order'}
    </span>
  );
}

const column = columnsOf<Delivery>();

const id = column.shortId('id', 'ID', 92, { rank: 1 });

const target = column.own('target', 'TARGET', 160, {
  isMain: true,
  isText: true,
  card: 'line',
  cell: ({ target }) => <Target target={target} />,
});

const attempts = column.own('attempts', 'ATTEMPTS', 80, {
  isFigure: true,
  card: 'note',
  cell: ({ attempts, max_attempts: most }) => `${attempts}/${most}`,
  value: ({ attempts, max_attempts: most }) => `${attempts} of ${most}`,
});

const lastStatus = column.own('last_status', 'LAST STATUS', 94, {
  rank: 2,
  isFigure: true,
  cell: ({ last_status: status }) => <LastStatus status={status} />,
});

const error = column.sentence('error', 'ERROR', 168, { card: 'title' });

const tenant = column.text('tenant', 'TENANT', 64, { rank: 5, card: 'line' });

const event = column.own('event_type', 'EVENT', 114, {
  isText: true,
  rank: 9,
  cell: ({ event_type: type }) => (
    <span className="small">
      <CutText text={type} />
    </span>
  ),
});

const action = column.action(92, (_, tabIndex) => (
  <LiveButton size="compact-xs" data-retry tabIndex={tabIndex}>
    RETRY
  </LiveButton>
));

/** The columns of the dead-letter queue. */
export const dlqColumns: readonly Column<Delivery>[] = [
  id,
  column.shortId('idempotency_key', 'IDEMPOTENCY KEY', 128, { rank: 8 }),
  target,
  attempts,
  { ...lastStatus, isKept: true },
  column.own('next_retry', 'NEXT RETRY', 94, {
    rank: 7,
    card: 'note',
    cell: (delivery) => {
      if (delivery.waits_for_endpoint) return <EndpointDisabled />;
      if (delivery.status === 'abandoned') return <span className="muted">parked</span>;
      return <NextRetry of={delivery} />;
    },
    value: ({ next_retry: at, waits_for_endpoint: waits }) =>
      waits ? 'disabled' : (at ?? 'parked'),
  }),
  { ...error, width: 136 },
  tenant,
  // So wide that it leaves before a target is cut.
  { ...event, width: 168 },
  column.own('failed_at', 'FAILED', 80, {
    rank: 6,
    card: 'note',
    cell: ({ last_attempt_at: at }) => (
      <span className="small">
        <Moment at={at} />
      </span>
    ),
    value: ({ last_attempt_at: at }) => at,
  }),
  action,
];

/** The columns of the page DELIVERIES. */
export const deliveryColumns: readonly Column<Delivery>[] = [
  column.own('status', 'STATUS', 152, {
    card: 'title',
    cell: (delivery) => (
      <>
        <StatusMark status={delivery.status} /> <Hold of={delivery} />
      </>
    ),
  }),
  { ...id, rank: 4 },
  { ...event, name: 'EVENT TYPE', width: 132, rank: 2, card: 'title' },
  { ...tenant, rank: 1 },
  target,
  { ...attempts, rank: 3 },
  lastStatus,
  column.moment('created_at', 'CREATED', 88, { card: 'note' }),
  { ...error, rank: 5, card: 'note' },
  {
    ...action,
    cell: (delivery, tabIndex) => isRetriable(delivery) && action.cell(delivery, tabIndex),
  },
];

/** Whether the service takes a retry: a delivery that failed and has its payload, and whose endpoint is enabled. */
export function isRetriable(delivery: Delivery): boolean {
  const { status, failure_class: failure, waits_for_endpoint: waits } = delivery;
  return (status === 'pending' || (status === 'abandoned' && failure !== 'erased')) && !waits;
}
