import type { DeadLetterStatus } from '../../webhooks/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { formatRelative } from '../format.ts';
import type { Column } from '../table.ts';

export type DeliveryRow = RouteAnswer<'GET /webhook/deliveries'>['data'][number];

const { word, text, count, ago, target } = columnsOf<DeliveryRow>();

/** The id is never cut, because it is pasted into `dlq retry`. */
const id = word('ID', 'id');
const attempts = count('ATTEMPTS', 'attempts', {
  shown: (row) => `${row.attempts}/${row.max_attempts}`,
});
const lastStatus = word('LAST', 'last_status', { align: 'right', givesWay: 3 });
const error = text('ERROR', 'error', { leastWidth: 16, givesWay: 2 });

/**
 * The columns of the dead-letter queue. Pending rows show when they are tried next, abandoned ones since when they
 * wait; where both are listed, their status says which.
 */
export function deadLetterColumns(
  status: DeadLetterStatus | undefined,
): readonly Column<DeliveryRow>[] {
  return [
    id,
    word('KEY', 'idempotency_key', { shown: (row) => shortId(row.idempotency_key), givesWay: 1 }),
    target('TARGET', 'target'),
    attempts,
    lastStatus,
    ...(status === undefined ? [word('STATUS', 'status')] : []),
    status === 'pending'
      ? ago('NEXT RETRY', 'next_retry', {
          shown: (row, now) => {
            if (row.waits_for_endpoint) return 'disabled';
            const { next_retry: next, paused_until: pause } = row;
            if (pause !== null && pause > (next ?? ''))
              return `paused, ${formatRelative(pause, now)}`;
            const isDue = next !== null && Date.parse(next) <= now;
            // One that is due and not sent yet waits for its endpoint, as `dlq show` tells.
            return isDue ? 'due' : formatRelative(row.next_retry, now);
          },
        })
      : ago('FAILED', 'last_attempt_at'),
    error,
  ];
}

/** The columns of the history of deliveries. */
export const deliveryColumns: readonly Column<DeliveryRow>[] = [
  id,
  word('STATUS', 'status', {
    shown: ({ status, waits_for_endpoint: isHeld, waits_for: first }) =>
      isHeld ? `${status} (disabled)` : first ? `${status} (waits for ${shortId(first)})` : status,
  }),
  text('EVENT', 'event_type', { givesWay: 4 }),
  text('TENANT', 'tenant', { givesWay: 5 }),
  target('TARGET', 'target'),
  attempts,
  lastStatus,
  ago('CREATED', 'created_at'),
  error,
];

/** An id shortened to its two ends: `dlv…7Kq2`. */
export function shortId(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 3)}…${text.slice(-4)}`;
}
