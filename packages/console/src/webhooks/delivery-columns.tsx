import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Delivery } from '../api/types.ts';
import { CutText, Moment } from '../ui/marks.tsx';
import type { Column } from '../ui/table/column.ts';
import { ShortId } from '../ui/table/whole-tips.tsx';
import { LastStatus, NextRetry, StatusMark, Target } from './marks.tsx';

/** Says that a delivery waits because its endpoint is disabled. */
function EndpointDisabled(): ReactNode {
  return (
    <span className="muted" title="Its endpoint is disabled: it waits until that is enabled">
      disabled
    </span>
  );
}

const id: Column<Delivery> = {
  id: 'id',
  name: 'ID',
  width: 92,
  rank: 1,
  cell: ({ id }, tabIndex) => <ShortId value={id} name="id" tabIndex={tabIndex} />,
  value: ({ id }) => id,
};

const target: Column<Delivery> = {
  id: 'target',
  name: 'TARGET',
  width: 160,
  isMain: true,
  card: 'line',
  cell: ({ target }) => <Target target={target} />,
  value: ({ target }) => target,
};

const attempts: Column<Delivery> = {
  id: 'attempts',
  name: 'ATTEMPTS',
  width: 80,
  isFigure: true,
  card: 'note',
  cell: ({ attempts, max_attempts: most }) => `${attempts}/${most}`,
  value: ({ attempts, max_attempts: most }) => `${attempts} of ${most}`,
};

const lastStatus: Column<Delivery> = {
  id: 'last_status',
  name: 'LAST STATUS',
  width: 94,
  rank: 2,
  isFigure: true,
  cell: ({ last_status: status }) => <LastStatus status={status} />,
  value: ({ last_status: status }) => status,
};

const error: Column<Delivery> = {
  id: 'error',
  name: 'ERROR',
  width: 168,
  grow: 0.6,
  card: 'title',
  cell: ({ error }) => <CutText text={error ?? '–'} end="" />,
  value: ({ error }) => error,
};

const tenant: Column<Delivery> = {
  id: 'tenant',
  name: 'TENANT',
  width: 64,
  rank: 7,
  card: 'line',
  cell: ({ tenant }) => <CutText text={tenant} />,
  value: ({ tenant }) => tenant,
};

const event: Column<Delivery> = {
  id: 'event_type',
  name: 'EVENT',
  width: 114,
  rank: 9,
  cell: ({ event_type: type }) => (
    <span className="small">
      <CutText text={type} />
    </span>
  ),
  value: ({ event_type: type }) => type,
};

const action: Column<Delivery> = {
  id: 'action',
  name: 'ACTION',
  width: 92,
  isAction: true,
  cell: (_, tabIndex) => (
    <Button size="compact-xs" data-retry tabIndex={tabIndex}>
      RETRY
    </Button>
  ),
};

/** The columns of the dead-letter queue. */
export const dlqColumns: readonly Column<Delivery>[] = [
  id,
  {
    id: 'idempotency_key',
    name: 'IDEMPOTENCY KEY',
    width: 128,
    rank: 3,
    cell: ({ idempotency_key: key }, tabIndex) => (
      <ShortId value={key} name="idempotency key" tabIndex={tabIndex} />
    ),
    value: ({ idempotency_key: key }) => key,
  },
  target,
  attempts,
  lastStatus,
  {
    id: 'next_retry',
    name: 'NEXT RETRY',
    width: 94,
    card: 'note',
    cell: ({ status, next_retry: at, waits_for_endpoint: waits }) => {
      if (waits) return <EndpointDisabled />;
      return status === 'abandoned' ? <span className="muted">parked</span> : <NextRetry at={at} />;
    },
    value: ({ next_retry: at, waits_for_endpoint: waits }) =>
      waits ? 'disabled' : (at ?? 'parked'),
  },
  error,
  tenant,
  event,
  {
    id: 'failed_at',
    name: 'FAILED',
    width: 80,
    rank: 8,
    card: 'note',
    cell: ({ last_attempt_at: at }) => (
      <span className="small">
        <Moment at={at} />
      </span>
    ),
    value: ({ last_attempt_at: at }) => at,
  },
  action,
];

/** The columns of the page DELIVERIES. */
export const deliveryColumns: readonly Column<Delivery>[] = [
  {
    id: 'status',
    name: 'STATUS',
    width: 152,
    card: 'title',
    cell: ({ status, waits_for_endpoint: waits }) => (
      <>
        <StatusMark status={status} />
        {waits && (
          <>
            {' '}
            <EndpointDisabled />
          </>
        )}
      </>
    ),
    value: ({ status }) => status,
  },
  { ...id, rank: 4 },
  { ...event, name: 'EVENT TYPE', width: 132, rank: 2, card: 'title' },
  { ...tenant, rank: 1 },
  target,
  { ...attempts, rank: 3 },
  lastStatus,
  {
    id: 'created_at',
    name: 'CREATED',
    width: 88,
    card: 'note',
    cell: ({ created_at: at }) => <Moment at={at} />,
    value: ({ created_at: at }) => at,
  },
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
