import { Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  cursorSchema,
  instantSchema,
  problem,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';

/** A delivery's life: SPEC §6. */
export const deliveryStatuses = [
  'queued',
  'pending',
  'abandoned',
  'delivered',
  'discarded',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The two statuses that make up the dead-letter queue. */
export const deadLetterStatuses = ['pending', 'abandoned'] as const;
export type DeadLetterStatus = (typeof deadLetterStatuses)[number];

/** Why an attempt failed, by where on its way. */
export const failureClasses = [
  'dns',
  'connect',
  'tls',
  'timeout_dns',
  'timeout_connect',
  'timeout_tls',
  'timeout_headers',
  'timeout_body',
  'reset',
  'protocol',
  'status',
  'redirect',
  'gone',
  'body',
  'blocked',
  'unsendable',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** What keeps a delivery that is not delivered yet. */
export const waitReasons = [
  'in_flight',
  'disabled',
  'breaker',
  'retry_after',
  'schedule',
  'rate',
  'no_drainer',
  'due',
  'parked',
] as const;
export type WaitReason = (typeof waitReasons)[number];

export const jobStates = ['running', 'paused', 'completed', 'cancelled'] as const;
export type JobState = (typeof jobStates)[number];

const oneOf = <const T extends readonly string[]>(values: T, description?: string) =>
  Type.Unsafe<T[number]>({
    type: 'string',
    enum: [...values],
    ...(description === undefined ? {} : { description }),
  });
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const idSchema = Type.String({ minLength: 1, maxLength: 200 });
const idParams = Type.Object({ id: Type.String() });
const listLimit = Type.Integer({ minimum: 1, maximum: 500, default: 100 });

const eventTypePattern = '[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+';
export const eventTypeSchema = Type.String({
  maxLength: 128,
  pattern: `^${eventTypePattern}$`,
  description: 'a dotted name such as incident.created',
});
const eventTypesSchema = Type.Array(
  Type.String({ maxLength: 128, pattern: `^(\\*|${eventTypePattern})$` }),
  { minItems: 1, maxItems: 100, uniqueItems: true, description: 'what is delivered; "*" = all' },
);
const maxAttemptsSchema = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'attempts before a delivery is abandoned; null = the default of the service, 8',
});
const scheduleSchema = Type.Array(Type.Integer({ minimum: 1, maximum: 604_800 }), {
  minItems: 1,
  maxItems: 100,
  description: 'seconds before attempt 2, 3, …; the last repeats; null = the default schedule',
});
const rateSchema = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description: 'deliveries a second; null = no limit',
});
const urlSchema = Type.String({ minLength: 1, maxLength: 2000 });
const descriptionSchema = Type.String({ maxLength: 500, pattern: '^[^\\u0000\\ud800-\\udfff]*$' });

export const endpointSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  url: Type.String(),
  description: nullable(Type.String()),
  event_types: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  disabled_reason: nullable(
    oneOf(['operator', 'gone'] as const, 'gone: the receiver answered 410'),
  ),
  max_attempts: nullable(maxAttemptsSchema),
  retry_schedule: nullable(scheduleSchema),
  rate_limit: nullable(rateSchema),
  breaker: Type.Object({
    state: oneOf(
      ['closed', 'open', 'probing'] as const,
      'open: paused after failures in a row; probing: the pause is over, the next row decides',
    ),
    failures_in_row: Type.Integer(),
    paused_until: nullable(instantSchema),
  }),
  previous_secret_until: nullable(instantSchema),
  created_at: instantSchema,
  updated_at: instantSchema,
});

export const newEndpointSchema = Type.Object(
  {
    tenant: tenantSchema,
    url: urlSchema,
    event_types: Type.Optional(eventTypesSchema),
    enabled: Type.Optional(Type.Boolean({ default: true })),
    max_attempts: Type.Optional(maxAttemptsSchema),
    retry_schedule: Type.Optional(scheduleSchema),
    rate_limit: Type.Optional(rateSchema),
    description: Type.Optional(descriptionSchema),
    secret: Type.Optional(
      Type.String({
        pattern: '^whsec_[A-Za-z0-9+/]+={0,2}$',
        maxLength: 100,
        description:
          'whsec_ and the base64 of 24–64 bytes, to keep one that receivers know already',
      }),
    ),
  },
  { additionalProperties: false },
);

export const endpointChangeSchema = Type.Object(
  {
    url: Type.Optional(urlSchema),
    event_types: Type.Optional(eventTypesSchema),
    enabled: Type.Optional(Type.Boolean()),
    max_attempts: Type.Optional(nullable(maxAttemptsSchema)),
    retry_schedule: Type.Optional(nullable(scheduleSchema)),
    rate_limit: Type.Optional(nullable(rateSchema)),
    description: Type.Optional(nullable(descriptionSchema)),
  },
  { additionalProperties: false, minProperties: 1 },
);

/** One delivery, as every list shows it. */
export const deliverySchema = Type.Object({
  id: Type.String(),
  idempotency_key: Type.String({ description: 'webhook-id, the same on every attempt' }),
  target: Type.String({ description: 'the URL' }),
  attempts: Type.Integer(),
  max_attempts: Type.Integer(),
  last_status: nullable(
    Type.Integer({ description: 'the last HTTP status ever received; null if none came' }),
  ),
  next_retry: nullable(instantSchema),
  error: nullable(Type.String({ description: 'the last error message' })),
  failure_class: nullable(oneOf(failureClasses)),
  status: oneOf(deliveryStatuses),
  tenant: Type.String(),
  endpoint_id: Type.String(),
  incident_id: Type.String(),
  event_type: Type.String(),
  created_at: instantSchema,
  last_attempt_at: nullable(instantSchema),
  finished_at: nullable(instantSchema),
});

export const attemptSchema = Type.Object({
  number: Type.Integer({ description: 'from 1' }),
  started_at: instantSchema,
  duration_ms: Type.Integer(),
  target: Type.String(),
  status: nullable(Type.Integer()),
  failure_class: nullable(oneOf(failureClasses, 'null: delivered')),
  error: nullable(Type.String()),
  response: nullable(
    Type.String({ description: 'the first 4 KiB of the answer, bytes that are no text replaced' }),
  ),
});

export const deliveryDetailSchema = Type.Object({
  ...deliverySchema.properties,
  payload: Type.Object({ type: Type.String(), timestamp: instantSchema, data: Type.Unknown() }),
  body: Type.String({ description: 'what is sent, to the letter' }),
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

export const deliveryGroupSchema = Type.Object({
  endpoint_id: Type.String(),
  tenant: Type.String(),
  target: Type.String(),
  failure_class: oneOf(failureClasses),
  count: Type.Integer(),
  first_seen: instantSchema,
  last_seen: instantSchema,
  error: nullable(Type.String({ description: 'the newest error message of the group' })),
});

const acceptedDeliverySchema = Type.Object({
  id: Type.String(),
  endpoint_id: Type.String(),
  idempotency_key: Type.String(),
  status: oneOf(deliveryStatuses),
});

export const newIncidentSchema = Type.Object(
  {
    tenant: tenantSchema,
    store: Type.Optional(storeSchema),
    type: eventTypeSchema,
    occurred_at: Type.Optional(instantSchema),
    data: Type.Unknown({ description: 'any JSON; 256 KiB with the rest of the payload' }),
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        pattern: '^[!-~]+$',
        description: 'printable ASCII; within 30 days the same key gives the same answer',
      }),
    ),
  },
  { additionalProperties: false },
);

export const acceptedIncidentSchema = Type.Object({
  id: Type.String(),
  deliveries: Type.Array(acceptedDeliverySchema),
});

export const incidentSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  store: nullable(Type.String()),
  type: Type.String(),
  occurred_at: instantSchema,
  created_at: instantSchema,
});

/** Which rows of the dead-letter queue. */
const deadLetterFilter = {
  status: Type.Optional(oneOf(deadLetterStatuses)),
  tenant: Type.Optional(tenantSchema),
  endpoint_id: Type.Optional(idSchema),
  failure_class: Type.Optional(oneOf(failureClasses)),
};

export const retryRequestSchema = Type.Object(
  {
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
  },
  { additionalProperties: false },
);

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
  state: oneOf(jobStates),
  status: nullable(oneOf(deadLetterStatuses)),
  tenant: nullable(Type.String()),
  endpoint_id: nullable(Type.String()),
  failure_class: nullable(oneOf(failureClasses)),
  failed_from: nullable(instantSchema),
  failed_to: nullable(instantSchema),
  rate: nullable(Type.Integer()),
  rows_total: Type.Integer({ description: 'as counted when it was asked for' }),
  rows_done: Type.Integer(),
  rows_skipped: Type.Integer(),
  created_by: Type.String(),
  created_at: instantSchema,
  updated_at: instantSchema,
  finished_at: nullable(instantSchema),
});

export const retryJobChangeSchema = Type.Object(
  {
    state: Type.Optional(oneOf(['running', 'paused'] as const)),
    rate: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
  },
  { additionalProperties: false, minProperties: 1 },
);

const page = <T extends Parameters<typeof Type.Array>[0]>(row: T) =>
  Type.Object({ data: Type.Array(row), next_cursor: nullable(Type.String()) });

const withSecret = Type.Object({
  ...endpointSchema.properties,
  secret: Type.String({ description: 'whsec_…, shown this once' }),
});

export const webhooksContract = {
  createEndpoint: {
    id: 'createEndpoint',
    method: 'POST',
    path: '/webhook/endpoints',
    tag: 'Webhooks',
    summary: 'Register an endpoint',
    description:
      'The URL is https, without credentials, and leads to no private or otherwise special address outside SVC_ALLOW_TARGETS (400 target_blocked). The answer is the only place where the secret ever shows.',
    scope: 'admin',
    body: newEndpointSchema,
    responses: { 201: { description: 'Registered.', schema: withSecret }, 400: problem },
  },
  listEndpoints: {
    id: 'listEndpoints',
    method: 'GET',
    path: '/webhook/endpoints',
    tag: 'Webhooks',
    summary: 'List the endpoints, by tenant',
    scope: 'admin',
    query: Type.Object(
      {
        tenant: Type.Optional(tenantSchema),
        limit: Type.Optional(listLimit),
        cursor: Type.Optional(cursorSchema),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: 'One page.', schema: page(endpointSchema) }, 400: problem },
  },
  getEndpoint: {
    id: 'getEndpoint',
    method: 'GET',
    path: '/webhook/endpoints/:id',
    tag: 'Webhooks',
    summary: 'Show an endpoint',
    scope: 'admin',
    params: idParams,
    responses: { 200: { description: 'The endpoint.', schema: endpointSchema }, 404: problem },
  },
  changeEndpoint: {
    id: 'changeEndpoint',
    method: 'PATCH',
    path: '/webhook/endpoints/:id',
    tag: 'Webhooks',
    summary: 'Change, disable or enable an endpoint',
    description: 'Rows of a disabled endpoint wait. Enabling it closes its breaker.',
    scope: 'admin',
    params: idParams,
    body: endpointChangeSchema,
    responses: {
      200: { description: 'As it is now.', schema: endpointSchema },
      400: problem,
      404: problem,
    },
  },
  deleteEndpoint: {
    id: 'deleteEndpoint',
    method: 'DELETE',
    path: '/webhook/endpoints/:id',
    tag: 'Webhooks',
    summary: 'Delete an endpoint',
    description: 'What was not delivered to it is discarded.',
    scope: 'admin',
    params: idParams,
    responses: { 204: { description: 'Deleted.' }, 404: problem },
  },
  rotateSecret: {
    id: 'rotateSecret',
    method: 'POST',
    path: '/webhook/endpoints/:id/rotate-secret',
    tag: 'Webhooks',
    summary: 'Give an endpoint a new secret',
    description: 'For 24 hours deliveries are signed with the old secret as well.',
    scope: 'admin',
    stepUp: true,
    params: idParams,
    responses: {
      200: { description: 'With the new secret, shown this once.', schema: withSecret },
      404: problem,
    },
  },
  pingEndpoint: {
    id: 'pingEndpoint',
    method: 'POST',
    path: '/webhook/endpoints/:id/ping',
    tag: 'Webhooks',
    summary: 'Send an event of type webhook.ping to an endpoint',
    scope: 'admin',
    params: idParams,
    responses: {
      202: { description: 'Queued.', schema: acceptedDeliverySchema },
      404: problem,
      409: problem,
    },
  },
  reportIncident: {
    id: 'reportIncident',
    method: 'POST',
    path: '/incidents',
    tag: 'Webhooks',
    summary: 'Report an incident to the endpoints of its tenant',
    description:
      'The incident and its deliveries are stored together before the answer. The same idempotency key gives the same answer and no second delivery; with another body, 409.',
    scope: 'incidents:write',
    body: newIncidentSchema,
    responses: {
      202: { description: 'Accepted.', schema: acceptedIncidentSchema },
      400: problem,
      409: problem,
      413: problem,
    },
  },
  listIncidents: {
    id: 'listIncidents',
    method: 'GET',
    path: '/incidents',
    tag: 'Webhooks',
    summary: 'List incidents, newest first',
    scope: 'incidents:write',
    query: Type.Object(
      {
        tenant: Type.Optional(tenantSchema),
        limit: Type.Optional(listLimit),
        cursor: Type.Optional(cursorSchema),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: 'One page.', schema: page(incidentSchema) }, 400: problem },
  },
  getIncident: {
    id: 'getIncident',
    method: 'GET',
    path: '/incidents/:id',
    tag: 'Webhooks',
    summary: 'Show an incident and its deliveries',
    scope: 'incidents:write',
    params: idParams,
    responses: {
      200: {
        description: 'The incident.',
        schema: Type.Object({
          ...incidentSchema.properties,
          data: Type.Unknown(),
          deliveries: Type.Array(acceptedDeliverySchema),
        }),
      },
      404: problem,
    },
  },
  listDeliveries: {
    id: 'listDeliveries',
    method: 'GET',
    path: '/webhook/deliveries',
    tag: 'Webhooks',
    summary: 'List deliveries in every state, newest first',
    scope: 'admin',
    query: Type.Object(
      {
        status: Type.Optional(oneOf(deliveryStatuses)),
        tenant: Type.Optional(tenantSchema),
        endpoint_id: Type.Optional(idSchema),
        incident_id: Type.Optional(idSchema),
        limit: Type.Optional(listLimit),
        cursor: Type.Optional(cursorSchema),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: {
        description:
          'One page. A filtered page may be short while next_cursor is set: the scan behind one page is bounded.',
        schema: page(deliverySchema),
      },
      400: problem,
    },
  },
  listDeadLetters: {
    id: 'listDeadLetters',
    method: 'GET',
    path: '/webhook/dlq',
    tag: 'Dead letters',
    summary: 'List the dead-letter queue, newest failure first',
    scope: 'admin',
    query: Type.Object(
      {
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
      },
      { additionalProperties: false },
    ),
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
    id: 'listDeadLetterGroups',
    method: 'GET',
    path: '/webhook/dlq/groups',
    tag: 'Dead letters',
    summary: 'The dead-letter queue by endpoint and failure class, largest group first',
    scope: 'admin',
    query: Type.Object(
      {
        status: oneOf(deadLetterStatuses),
        tenant: Type.Optional(tenantSchema),
        endpoint_id: Type.Optional(idSchema),
        limit: Type.Optional(listLimit),
      },
      { additionalProperties: false },
    ),
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
    id: 'getDeadLetter',
    method: 'GET',
    path: '/webhook/dlq/:id',
    tag: 'Dead letters',
    summary: 'Show one delivery, its payload, its attempts and why it is not delivered yet',
    scope: 'admin',
    params: idParams,
    responses: {
      200: { description: 'A delivery in any status.', schema: deliveryDetailSchema },
      404: problem,
    },
  },
  retryDeadLetter: {
    id: 'retryDeadLetter',
    method: 'POST',
    path: '/webhook/dlq/:id/retry',
    tag: 'Dead letters',
    summary: 'Re-arm one delivery',
    description:
      'Queued at once with a fresh budget of attempts; delivery happens when the drainer runs. Nothing changes when it is queued already or an attempt is under way; 409 when it is delivered or discarded, or its endpoint is disabled.',
    scope: 'admin',
    params: idParams,
    responses: {
      202: { description: 'The row as it is now.', schema: deliverySchema },
      404: problem,
      409: problem,
    },
  },
  purgeDeadLetter: {
    id: 'purgeDeadLetter',
    method: 'DELETE',
    path: '/webhook/dlq/:id',
    tag: 'Dead letters',
    summary: 'Discard one delivery that is queued, pending or abandoned',
    scope: 'admin',
    stepUp: true,
    params: idParams,
    responses: { 204: { description: 'Discarded, or was before.' }, 404: problem, 409: problem },
  },
  retryDeadLetters: {
    id: 'retryDeadLetters',
    method: 'POST',
    path: '/webhook/dlq/retry',
    tag: 'Dead letters',
    summary: 'Re-arm all rows that a filter finds, as a job',
    description:
      'dry_run answers 200 with what it would do. Rows that fail after the job was made are left alone.',
    scope: 'admin',
    body: retryRequestSchema,
    responses: {
      202: { description: 'The job.', schema: retryJobSchema },
      200: { description: 'dry_run: what it would do.', schema: retryPreviewSchema },
      400: problem,
    },
  },
  listRetryJobs: {
    id: 'listRetryJobs',
    method: 'GET',
    path: '/webhook/dlq/retries',
    tag: 'Dead letters',
    summary: 'List the bulk re-arms, newest first',
    scope: 'admin',
    query: Type.Object(
      { limit: Type.Optional(listLimit), cursor: Type.Optional(cursorSchema) },
      { additionalProperties: false },
    ),
    responses: { 200: { description: 'One page.', schema: page(retryJobSchema) }, 400: problem },
  },
  getRetryJob: {
    id: 'getRetryJob',
    method: 'GET',
    path: '/webhook/dlq/retries/:id',
    tag: 'Dead letters',
    summary: 'Show the progress of a bulk re-arm',
    scope: 'admin',
    params: idParams,
    responses: { 200: { description: 'The job.', schema: retryJobSchema }, 404: problem },
  },
  changeRetryJob: {
    id: 'changeRetryJob',
    method: 'PATCH',
    path: '/webhook/dlq/retries/:id',
    tag: 'Dead letters',
    summary: 'Pause, resume or pace a bulk re-arm',
    scope: 'admin',
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
    id: 'cancelRetryJob',
    method: 'DELETE',
    path: '/webhook/dlq/retries/:id',
    tag: 'Dead letters',
    summary: 'Cancel a bulk re-arm; what it has re-armed stays so',
    scope: 'admin',
    params: idParams,
    responses: { 204: { description: 'Cancelled, or had ended.' }, 404: problem },
  },
} as const satisfies Record<string, RouteContract>;
