import { type Static, Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  cursorSchema,
  exactly,
  instantSchema,
  nullable,
  oneOf,
  pageOf,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import {
  deliveryDetailSchema,
  deliveryGroupSchema,
  deliverySchema,
  idParams,
  idSchema,
  includeHours,
  listLimit,
} from './schemas.contract.ts';
import { deadLetterStatuses, failureClasses, openJobStates, retryStates } from './values.ts';

/** Selects rows of the dead-letter queue. What is missing means any. */
const deadLetterFilter = {
  status: Type.Optional(oneOf(deadLetterStatuses)),
  tenant: Type.Optional(tenantSchema),
  endpoint_id: Type.Optional(idSchema),
  failure_class: Type.Optional(oneOf(failureClasses)),
};

/** The body of `POST /webhook/dlq/retry`. The time range is that of the last failure; both ends belong to it. */
export const retryRequestSchema = exactly({
  ...deadLetterFilter,
  failed_from: Type.Optional(instantSchema),
  failed_to: Type.Optional(instantSchema),
  dry_run: Type.Optional(
    Type.Boolean({ default: false, description: 'only say what would be re-armed' }),
  ),
  rate: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description: 'rows re-armed a second, at most',
    }),
  ),
});

/** What a bulk retry would do. The counts are exact, also where not all groups are listed. */
export const retryPreviewSchema = Type.Object({
  count: Type.Integer({ description: 'rows that would be re-armed' }),
  skipped: Type.Integer({ description: 'rows left alone, because their endpoint is disabled' }),
  groups: Type.Array(
    Type.Object({
      endpoint_id: Type.String(),
      target: Type.String(),
      failure_class: oneOf(failureClasses),
      count: Type.Integer(),
    }),
    { description: 'the largest first, 100 at most' },
  ),
});

export const retryJobSchema = Type.Object({
  id: Type.String(),
  state: oneOf(retryStates),
  status: nullable(oneOf(deadLetterStatuses)),
  tenant: nullable(Type.String()),
  endpoint_id: nullable(Type.String()),
  failure_class: nullable(oneOf(failureClasses)),
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
  created_by: Type.String(),
  created_at: instantSchema,
  updated_at: instantSchema,
  finished_at: nullable(instantSchema),
});
/** A bulk retry, as the API shows it. */
export type JobRow = Static<typeof retryJobSchema>;

export const retryJobChangeSchema = exactly(
  {
    state: Type.Optional(oneOf(openJobStates)),
    rate: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
  },
  { minProperties: 1 },
);

/** What operators may do. */
const admin = { tag: 'Dead letters', scope: 'admin' } as const;

/** The routes of the dead-letter queue: its lists, one row of it, and its retry in bulk. */
export const deadLettersContract = {
  listDeadLetters: {
    ...admin,
    id: 'listDeadLetters',
    method: 'GET',
    path: '/webhook/dlq',
    summary: 'List the dead-letter queue, newest failure first',
    query: exactly({
      status: oneOf(deadLetterStatuses),
      tenant: Type.Optional(tenantSchema),
      endpoint_id: Type.Optional(idSchema),
      failure_class: Type.Optional(oneOf(failureClasses)),
      q: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'part of the target or the error, or the beginning of an id or key',
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 200 })),
      cursor: Type.Optional(cursorSchema),
    }),
    responses: {
      200: {
        description: 'One page. With q it may be short while next_cursor is set.',
        schema: Type.Object({
          data: Type.Array(deliverySchema),
          next_cursor: nullable(Type.String()),
          total: nullable(Type.Integer({ description: 'rows on all pages; null with q' })),
        }),
      },
      400: problem,
    },
  },
  listDeadLetterGroups: {
    ...admin,
    id: 'listDeadLetterGroups',
    method: 'GET',
    path: '/webhook/dlq/groups',
    summary: 'The dead-letter queue by endpoint and failure class, largest group first',
    query: exactly({
      status: oneOf(deadLetterStatuses),
      tenant: Type.Optional(tenantSchema),
      endpoint_id: Type.Optional(idSchema),
      include: includeHours,
      limit: Type.Optional(listLimit),
    }),
    responses: {
      200: {
        description: 'The largest groups.',
        schema: Type.Object({
          data: Type.Array(deliveryGroupSchema),
          next_cursor: Type.Null(),
        }),
      },
      400: problem,
    },
  },
  getDeadLetter: {
    ...admin,
    id: 'getDeadLetter',
    method: 'GET',
    path: '/webhook/dlq/:id',
    summary: 'Show one delivery, its payload, its attempts and why it is not delivered yet',
    params: idParams,
    responses: {
      200: { description: 'A delivery in any status.', schema: deliveryDetailSchema },
      404: problem,
    },
  },
  retryDeadLetter: {
    ...admin,
    id: 'retryDeadLetter',
    method: 'POST',
    path: '/webhook/dlq/:id/retry',
    summary: 'Re-arm one delivery',
    description:
      'Queued at once with a fresh budget of attempts; delivery happens when the drainer runs. Nothing changes when it is queued already or an attempt is under way; 409 when it is delivered or discarded, or its endpoint is disabled.',
    params: idParams,
    responses: {
      202: { description: 'The row as it is now.', schema: deliverySchema },
      404: problem,
      409: problem,
    },
  },
  purgeDeadLetter: {
    ...admin,
    id: 'purgeDeadLetter',
    method: 'DELETE',
    path: '/webhook/dlq/:id',
    summary: 'Discard one delivery that is queued, pending or abandoned',
    description:
      'The answers of its attempts are removed at once, and its payload, too, unless another delivery of the incident waits or can be retried.',
    stepUp: true,
    params: idParams,
    responses: { 204: { description: 'Discarded, or was before.' }, 404: problem, 409: problem },
  },
  retryDeadLetters: {
    ...admin,
    id: 'retryDeadLetters',
    method: 'POST',
    path: '/webhook/dlq/retry',
    summary: 'Re-arm all rows that a filter finds, as a job',
    description:
      'dry_run answers 200 with what it would do. Rows that fail after the job was made are left alone.',
    body: retryRequestSchema,
    responses: {
      202: { description: 'The job.', schema: retryJobSchema },
      200: { description: 'dry_run: what it would do.', schema: retryPreviewSchema },
      400: problem,
    },
  },
  listRetryJobs: {
    ...admin,
    id: 'listRetryJobs',
    method: 'GET',
    path: '/webhook/dlq/retries',
    summary: 'List the bulk re-arms, newest first',
    query: exactly({ limit: Type.Optional(listLimit), cursor: Type.Optional(cursorSchema) }),
    responses: { 200: { description: 'One page.', schema: pageOf(retryJobSchema) }, 400: problem },
  },
  getRetryJob: {
    ...admin,
    id: 'getRetryJob',
    method: 'GET',
    path: '/webhook/dlq/retries/:id',
    summary: 'Show the progress of a bulk re-arm',
    params: idParams,
    responses: { 200: { description: 'The job.', schema: retryJobSchema }, 404: problem },
  },
  changeRetryJob: {
    ...admin,
    id: 'changeRetryJob',
    method: 'PATCH',
    path: '/webhook/dlq/retries/:id',
    summary: 'Pause, resume or pace a bulk re-arm',
    params: idParams,
    body: retryJobChangeSchema,
    responses: {
      200: { description: 'The job.', schema: retryJobSchema },
      400: problem,
      404: problem,
      409: problem,
    },
  },
  cancelRetryJob: {
    ...admin,
    id: 'cancelRetryJob',
    method: 'DELETE',
    path: '/webhook/dlq/retries/:id',
    summary: 'Cancel a bulk re-arm; what it has re-armed stays so',
    params: idParams,
    responses: { 204: { description: 'Cancelled, or had ended.' }, 404: problem },
  },
} as const satisfies Record<string, RouteContract>;
