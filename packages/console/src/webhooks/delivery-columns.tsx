import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Delivery } from '../api/types.ts';
import { CutText, Moment } from '../ui/marks.tsx';
import type { Column } from '../ui/table/rows-table.tsx';
import classes from '../ui/table/table.module.css';
import { ShortId } from '../ui/table/whole-tips.tsx';
import markClasses from './marks.module.css';
import { LastStatus, NextRetry, StatusMark, Target } from './marks.tsx';

/** Says that a delivery waits because its endpoint is disabled. */
function EndpointDisabled(): ReactNode {
  return (
    <span
      className={markClasses.none}
      title="Its endpoint is disabled: it waits until that is enabled"
    >
      disabled
    </span>
  );
}

/** The columns of the dead-letter queue. */
export const dlqColumns: readonly Column<Delivery>[] = [
  {
    name: 'ID',
    className: classes.id,
    cell: ({ id }, tabIndex) => <ShortId value={id} name="id" tabIndex={tabIndex} />,
  },
  {
    name: 'IDEMPOTENCY KEY',
    className: classes.key,
    cell: ({ idempotency_key: key }, tabIndex) => (
      <ShortId value={key} name="idempotency key" tabIndex={tabIndex} />
    ),
  },
  { name: 'TARGET', className: classes.url, cell: ({ target }) => <Target target={target} /> },
  {
    name: 'ATTEMPTS',
    className: classes.attempts,
    cell: ({ attempts, max_attempts: most }) => `${attempts}/${most}`,
  },
  {
    name: 'LAST STATUS',
    className: classes.lastStatus,
    cell: ({ last_status: status }) => <LastStatus status={status} />,
  },
  {
    name: 'NEXT RETRY',
    className: classes.when,
    cell: ({ status, next_retry: at, waits_for_endpoint: waits }) => {
      if (waits) return <EndpointDisabled />;
      return status === 'abandoned' ? (
        <span className={markClasses.none}>parked</span>
      ) : (
        <NextRetry at={at} />
      );
    },
  },
  {
    name: 'ERROR',
    className: classes.error,
    cell: ({ error }) => <CutText text={error ?? '–'} />,
  },
  {
    name: 'ACTION',
    className: classes.action,
    cell: (_, tabIndex) => (
      <Button size="compact-xs" data-retry tabIndex={tabIndex}>
        RETRY
      </Button>
    ),
  },
];

/** The columns of the page DELIVERIES. */
export const deliveryColumns: readonly Column<Delivery>[] = [
  {
    name: 'STATUS',
    className: classes.state,
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
  },
  ...dlqColumns.slice(0, 1),
  {
    name: 'EVENT TYPE',
    className: classes.event,
    cell: ({ event_type: type }) => <CutText text={type} />,
  },
  {
    name: 'TENANT',
    className: classes.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  ...dlqColumns.slice(2, 5),
  { name: 'CREATED', className: classes.when, cell: ({ created_at: at }) => <Moment at={at} /> },
  ...dlqColumns.slice(6, 7),
];
