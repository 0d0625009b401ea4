import { Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  exactly,
  fits,
  instantSchema,
  limitSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import {
  bulkJobSchema,
  deliveryDetailSchema,
  deliveryGroupSchema,
  deliverySchema,
} from './deliveries.contract.ts';
import { idSchema, includeHours, searchFilters } from './schemas.contract.ts';
import { bulkActions, deadLetterStatuses, failureClasses, openJobStates } from './values.ts';

/** Selects rows of the dead-letter queue. What is missing means any. */
const deadLetterFilter = {
  status: Type.Optional(oneOf(deadLetterStatuses)),
  tenant: Type.Optional(tenantSchema),
  endpoint_id: Type.Optional(idSchema),
  failure_class: Type.Optional(oneOf(failureClasses)),
};

/** The body of a call that re-arms or purges in bulk. The range of time is that of the last failure, with both ends. */
export const bulkRequestSchema = exactly({
  ...deadLetterFilter,
  event_type: searchFilters.type,
  failed_from: Type.Optional(instantSchema),
  failed_to: Type.Optional(instantSchema),
  older_than: optional.string({
    pattern: '^[0-9]{1,5}[mhd]$',
    [fits]: 'minutes, hours or days such as 30d',
    description:
      'only what failed at least so long ago: minutes, hours or days, such as 30d; instead of failed_to',
  }),
  dry_run: optional.boolean({ default: false, description: 'only say what would be done' }),
  rate: optional.integer({ minimum: 1, maximum: 100_000, description: 'rows a second, at most' }),
});

/** What a bulk job would do. The counts are exact, also where not all groups are listed. */
export const bulkPreviewSchema = Type.Object({
  count: Type.Integer({ description: 'rows that would be re-armed, or purged' }),
  skipped: Type.Integer({
    description:
      'rows left alone: by a retry, because their endpoint is disabled or their payload erased; by a purge, because their tenant is under legal hold',
  }),
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

const bulkJobChangeSchema = exactly(
  {
    state: Type.Optional(oneOf(openJobStates)),
    rate: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
  },
  { minProperties: 1 },
);

/** The routes of bulk jobs at a path, and how their summaries call all of them, one, and what one has done. */
const jobsAt = <const Path extends string>(path: Path, words: readonly [string, string, string]) =>
  ({
    list: {
      scope: 'dlq:operate',
      route: `GET ${path}`,
      summary: `List the bulk ${words[0]}, newest first`,
      query: exactly(paging),
      responses: onePage(bulkJobSchema),
    },
    get: {
      scope: 'dlq:operate',
      route: `GET ${path}/:id`,
      summary: `Show the progress of a bulk ${words[1]}`,
      responses: { 200: { description: 'The job.', schema: bulkJobSchema } },
    },
    change: {
      scope: 'dlq:operate',
      route: `PATCH ${path}/:id`,
      summary: `Pause, resume or pace a bulk ${words[1]}`,
      body: bulkJobChangeSchema,
      responses: { 200: { description: 'The job.', schema: bulkJobSchema }, 409: problem },
    },
    cancel: {
      scope: 'dlq:operate',
      route: `DELETE ${path}/:id`,
      summary: `Cancel a bulk ${words[1]}; what it has ${words[2]} stays so`,
      responses: { 204: { description: 'Cancelled, or had ended.' } },
    },
  }) as const;
const bulkJobs = jobsAt('/webhook/dlq/jobs', ['re-arms and purges', 're-arm or purge', 'done']);
const retryJobs = jobsAt('/webhook/dlq/retries', ['re-arms', 're-arm', 're-armed']);

/** The routes of the dead-letter queue: its lists, one row of it, and what is done to many at once. */
export const deadLettersContract = routesUnder('Dead letters', {
  listDeadLetters: {
    scope: 'webhooks:read',
    route: 'GET /webhook/dlq',
    summary: 'List the dead-letter queue, newest failure first',
    query: exactly({
      ...deadLetterFilter,
      status: oneOf(deadLetterStatuses),
      q: optional.string({
        minLength: 1,
        maxLength: 200,
        description: 'part of the target or the error, or the beginning of an id or key',
      }),
      limit: optional.integer({ minimum: 1, maximum: 200, default: 200 }),
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
    },
  },
  listDeadLetterGroups: {
    scope: 'webhooks:read',
    route: 'GET /webhook/dlq/groups',
    summary: 'The dead-letter queue by endpoint and failure class, largest group first',
    query: exactly({
      status: oneOf(deadLetterStatuses),
      tenant: Type.Optional(tenantSchema),
      endpoint_id: Type.Optional(idSchema),
      include: includeHours,
      limit: Type.Optional(limitSchema),
    }),
    responses: {
      200: {
        description: 'The largest groups.',
        schema: Type.Object({ data: Type.Array(deliveryGroupSchema), next_cursor: Type.Null() }),
      },
    },
  },
  getDeadLetter: {
    scope: 'webhooks:read',
    route: 'GET /webhook/dlq/:id',
    summary: 'Show one delivery, its payload, its attempts and why it is not delivered yet',
    responses: { 200: { description: 'A delivery in any status.', schema: deliveryDetailSchema } },
  },
  retryDeadLetter: {
    scope: 'deliveries:retry',
    route: 'POST /webhook/dlq/:id/retry',
    summary: 'Re-arm one delivery',
    description:
      'Queued at once with a fresh budget of attempts; delivery happens when the drainer runs. Nothing changes when it is queued already or an attempt is under way; 409 when it is delivered or discarded, or its endpoint is disabled.',
    responses: {
      202: { description: 'The row as it is now.', schema: deliverySchema },
      409: problem,
    },
  },
  purgeDeadLetter: {
    scope: 'admin',
    route: 'DELETE /webhook/dlq/:id',
    summary: 'Discard one delivery that is queued, pending or abandoned',
    description:
      'The answers of its attempts are removed at once, and its payload, too, unless another delivery of the incident waits or can be retried. Refused while the tenant is on hold (409 tenant_on_hold).',
    stepUp: true,
    responses: { 204: { description: 'Discarded, or was before.' }, 409: problem },
  },
  retryDeadLetters: {
    scope: 'dlq:operate',
    route: 'POST /webhook/dlq/retry',
    summary: 'Re-arm all rows that a filter finds, as a job',
    description:
      'dry_run answers 200 with what it would do. Rows that fail after the job was made are left alone.',
    body: bulkRequestSchema,
    responses: {
      202: { description: 'The job.', schema: bulkJobSchema },
      200: { description: 'dry_run: what it would do.', schema: bulkPreviewSchema },
    },
  },
  purgeDeadLetters: {
    scope: 'admin',
    route: 'POST /webhook/dlq/purge',
    summary: 'Discard all rows that a filter finds, as a job',
    description:
      'dry_run answers 200 with what it would do. Each row loses what a purge of one row takes. Rows that fail after the job was made, and those of tenants under legal hold, are left alone.',
    stepUp: { unless: 'dry_run' },
    body: bulkRequestSchema,
    responses: {
      202: { description: 'The job.', schema: bulkJobSchema },
      200: { description: 'dry_run: what it would do.', schema: bulkPreviewSchema },
      409: problem,
    },
  },
  listBulkJobs: {
    ...bulkJobs.list,
    query: exactly({ action: Type.Optional(oneOf(bulkActions)), ...paging }),
  },
  getBulkJob: bulkJobs.get,
  changeBulkJob: {
    ...bulkJobs.change,
    description: 'To resume or pace a purge takes the scope `admin`.',
  },
  cancelBulkJob: bulkJobs.cancel,
  listRetryJobs: retryJobs.list,
  getRetryJob: retryJobs.get,
  changeRetryJob: retryJobs.change,
  cancelRetryJob: retryJobs.cancel,
});
