import { type Static, type TInteger, type TOptional, Type } from 'typebox';
import { instantSchema, nullable, oneOf, optional } from '../platform/http/schemas.contract.ts';
import { placeInOrder } from './order-fields.contract.ts';
import { includedHours } from './schemas.contract.ts';
import {
  bulkActions,
  deadLetterStatuses,
  deliveryStatuses,
  failureClasses,
  type RowOutcome,
  retryStates,
  rowOutcomes,
  waitReasons,
} from './values.ts';

/** A delivery, as every list shows it. */
export const deliverySchema = Type.Object({
  id: Type.String(),
  idempotency_key: Type.String({ description: 'webhook-id, the same on every attempt' }),
  target: Type.String({ description: 'the URL, without its query' }),
  attempts: Type.Integer(),
  max_attempts: Type.Integer(),
  last_status: nullable(
    Type.Integer({ description: 'the last HTTP status ever received; null if none came' }),
  ),
  next_retry: nullable(instantSchema),
  error: nullable(Type.String({ description: 'the last error message' })),
  failure_class: nullable(oneOf(failureClasses)),
  status: oneOf(deliveryStatuses),
  waits_for_endpoint: Type.Boolean({
    description: 'queued or pending, and not sent before its endpoint is enabled',
  }),
  paused_until: nullable(instantSchema, 'queued or pending, and its endpoint is paused until then'),
  ...placeInOrder,
  tenant: Type.String(),
  endpoint_id: Type.String(),
  incident_id: Type.String(),
  event_type: Type.String(),
  job_id: nullable(
    Type.String({
      description:
        'the bulk job that re-armed or purged it; null: none did, or it was retried alone since',
    }),
  ),
  created_at: instantSchema,
  last_attempt_at: nullable(
    Type.String({
      ...instantSchema,
      description: 'the end of the last attempt, or when waiting for the endpoint was given up',
    }),
  ),
  finished_at: nullable(instantSchema),
  replay_of: nullable(
    Type.String({
      description: 'a replay sends it again: the webhook-id that it had first, in webhook-replay',
    }),
  ),
  replay_id: nullable(Type.String({ description: 'the replay that made it, or re-armed it last' })),
});
/** A delivery, as every list shows it. Times are RFC 3339 text. */
export type DeliveryRow = Static<typeof deliverySchema>;

/** One attempt in the log of a delivery. */
export const attemptSchema = Type.Object({
  number: Type.Integer({ description: 'from 1' }),
  started_at: instantSchema,
  duration_ms: Type.Integer(),
  target: Type.String(),
  status: nullable(Type.Integer()),
  failure_class: nullable(oneOf(failureClasses, 'null: delivered')),
  error: nullable(Type.String()),
  response: nullable(
    Type.String({
      description:
        'the first 4 KiB of the answer, bytes that are no text replaced; null also when it was erased',
    }),
  ),
  response_bytes: nullable(Type.Integer({ description: 'size of what was kept of the answer' })),
});

/** A delivery with its payload, its attempts and the reason why it waits. */
export const deliveryDetailSchema = Type.Object({
  ...deliverySchema.properties,
  payload: Type.Object({ type: Type.String(), timestamp: instantSchema, data: Type.Unknown() }),
  body: Type.String({ description: 'what is sent, to the letter' }),
  payload_erased_at: nullable({ ...instantSchema, description: 'since then its data is null' }),
  request_id: nullable(
    Type.String({
      description:
        'of the call that reported the incident, as its answer had it in X-Request-Id; the drainer’s log names it',
    }),
  ),
  attempt_log: Type.Array(attemptSchema, { description: 'newest first, 100 at most' }),
  waiting: nullable(
    Type.Object(
      {
        reason: oneOf(waitReasons),
        until: nullable(instantSchema),
        text: Type.String({ description: 'the same in one sentence' }),
      },
      { description: 'why it is not delivered yet; null when it is delivered or discarded' },
    ),
  ),
});
/** Why a delivery waits. `until` is null when no time is known; `text` is one sentence for an operator. */
export type Waiting = NonNullable<Static<typeof deliveryDetailSchema>['waiting']>;

/** A group of the dead-letter queue: one endpoint and one failure class. */
export const deliveryGroupSchema = Type.Object({
  endpoint_id: Type.String(),
  tenant: Type.String(),
  target: Type.String(),
  failure_class: oneOf(failureClasses),
  count: Type.Integer(),
  first_seen: instantSchema,
  last_seen: instantSchema,
  error: nullable(Type.String({ description: 'the newest error message of the group' })),
  hours: includedHours,
});
/** A group of the dead-letter queue. `target` and `error` are those of its newest failure. */
export type GroupRow = Static<typeof deliveryGroupSchema>;

/** A delivery as the reporter of its incident is told of it. */
export const acceptedDeliverySchema = Type.Object({
  id: Type.String(),
  endpoint_id: Type.String(),
  idempotency_key: Type.String(),
  status: oneOf(deliveryStatuses),
});
/** A ping, and what came of it. */
export const pingedDeliverySchema = Type.Object({
  ...acceptedDeliverySchema.properties,
  outcome: nullable(
    Type.Object({
      status: nullable(Type.Integer({ description: 'null: no answer came' })),
      failure_class: nullable(oneOf(failureClasses, 'null: delivered')),
      error: nullable(Type.String()),
      duration_ms: Type.Integer(),
      response: nullable(
        Type.String({
          description: 'the first 4 KiB of the answer, bytes that are no text replaced',
        }),
      ),
    }),
    'null: its receiver fetches it with its next poll',
  ),
});
export type AcceptedDelivery = Static<typeof acceptedDeliverySchema>;

export const bulkJobSchema = Type.Object({
  id: Type.String(),
  action: oneOf(bulkActions),
  state: oneOf(retryStates),
  status: nullable(oneOf(deadLetterStatuses)),
  tenant: nullable(Type.String()),
  endpoint_id: nullable(Type.String()),
  failure_class: nullable(oneOf(failureClasses)),
  event_type: nullable(Type.String()),
  failed_from: nullable(instantSchema),
  failed_to: nullable(instantSchema),
  rate: nullable(Type.Integer()),
  waits_for_endpoint: Type.Boolean({
    description: 'its endpoint was disabled since; it goes on when that is enabled',
  }),
  rows_total: Type.Integer({ description: 'as counted when it was asked for' }),
  rows_done: Type.Integer(),
  rows_skipped: Type.Integer(),
  rows_left: Type.Integer({
    description:
      'those skipped whose endpoint was disabled since it was asked for: ask for them again',
  }),
  outcome: nullable(
    Type.Object({
      counts: Type.Object(
        Object.fromEntries(rowOutcomes.map((outcome) => [outcome, optional.integer()])) as Record<
          RowOutcome,
          TOptional<TInteger>
        >,
        { description: 'its rows by what they are now; those that are none are left out' },
      ),
      looked_at: instantSchema,
      settled_at: nullable(instantSchema, 'null: some are still under way'),
    }),
    'what became of its rows, looked at for 30 days, or SVC_DELIVERY_DAYS if that is less; null: nobody has looked yet',
  ),
  created_by: Type.String(),
  created_at: instantSchema,
  updated_at: instantSchema,
  finished_at: nullable(instantSchema),
});
/** A bulk job, as the API shows it. */
export type JobRow = Static<typeof bulkJobSchema>;
