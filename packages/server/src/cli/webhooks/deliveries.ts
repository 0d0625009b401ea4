import type { DeadLetterStatus } from '../../webhooks/values.ts';
import type { RouteAnswer } from '../client.ts';
import { formatRelative } from '../format.ts';
import type { Column } from '../table.ts';

export type DeliveryRow = RouteAnswer<'GET /webhook/deliveries'>['data'][number];

/** Names that `--json a,b` may select. */
export const deliveryFields = [
  'id',
  'idempotency_key',
  'target',
  'attempts',
  'max_attempts',
  'last_status',
  'next_retry',
  'error',
  'failure_class',
  'status',
  'waits_for_endpoint',
  'tenant',
  'endpoint_id',
  'incident_id',
  'event_type',
  'created_at',
  'last_attempt_at',
  'finished_at',
] as const satisfies readonly (keyof DeliveryRow)[];

/** The id is never cut, because it is pasted into `dlq retry`. */
const id: Column<DeliveryRow> = { title: 'ID', value: (row) => row.id };
const target: Column<DeliveryRow> = targetColumn('TARGET', (row) => row.target);
const attempts: Column<DeliveryRow> = {
  title: 'ATTEMPTS',
  align: 'right',
  value: (row) => row.attempts,
  shown: (row) => `${row.attempts}/${row.max_attempts}`,
};
const lastStatus: Column<DeliveryRow> = {
  title: 'LAST',
  align: 'right',
  value: (row) => row.last_status,
  givesWay: 3,
};
const error: Column<DeliveryRow> = {
  title: 'ERROR',
  isElastic: true,
  leastWidth: 16,
  givesWay: 2,
  value: (row) => row.error,
};

/** A column with a URL, cut in its middle, without https://, which nearly all begin with. */
export function targetColumn<Row>(title: string, value: (row: Row) => string): Column<Row> {
  return {
    title,
    isElastic: true,
    leastWidth: 24,
    isCutInMiddle: true,
    value,
    shown: (row) => value(row).replace(/^https:\/\//, ''),
  };
}

/**
 * The columns of the dead-letter queue. Pending rows show when they are tried next, abandoned ones since when they
 * wait.
 */
export function deadLetterColumns(
  status: DeadLetterStatus,
  nowMillis: number,
): readonly Column<DeliveryRow>[] {
  return [
    id,
    {
      title: 'KEY',
      value: (row) => row.idempotency_key,
      shown: (row) => shortId(row.idempotency_key),
      givesWay: 1,
    },
    target,
    attempts,
    lastStatus,
    status === 'pending'
      ? {
          title: 'NEXT RETRY',
          value: (row) => row.next_retry,
          shown: (row) =>
            row.waits_for_endpoint ? 'disabled' : formatRelative(row.next_retry, nowMillis),
        }
      : time('FAILED', nowMillis, (row) => row.last_attempt_at),
    error,
  ];
}

/** The columns of the history of deliveries. */
export function deliveryColumns(nowMillis: number): readonly Column<DeliveryRow>[] {
  return [
    id,
    {
      title: 'STATUS',
      value: (row) => row.status,
      shown: (row) => (row.waits_for_endpoint ? `${row.status} (disabled)` : row.status),
    },
    { title: 'EVENT', isElastic: true, givesWay: 4, value: (row) => row.event_type },
    { title: 'TENANT', isElastic: true, givesWay: 5, value: (row) => row.tenant },
    target,
    attempts,
    lastStatus,
    time('CREATED', nowMillis, (row) => row.created_at),
    error,
  ];
}

/** An id shortened to its two ends: `dlv…7Kq2`. */
export function shortId(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 3)}…${text.slice(-4)}`;
}

function time(
  title: string,
  nowMillis: number,
  value: (row: DeliveryRow) => string | null,
): Column<DeliveryRow> {
  return { title, value, shown: (row) => formatRelative(value(row), nowMillis) };
}
