import { Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  cursorSchema,
  nullable,
  oneOf,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import {
  acceptedIncidentSchema,
  incidentDetailSchema,
  incidentReceiptSchema,
  incidentsQuerySchema,
  listedIncidentSchema,
  newIncidentSchema,
} from './incidents.contract.ts';
import {
  deliveryDetailSchema,
  deliveryGroupSchema,
  deliveryHoursSchema,
  deliverySchema,
  endpointChangeSchema,
  endpointSchema,
  idParams,
  idSchema,
  listLimit,
  newEndpointSchema,
  pingedDeliverySchema,
  retryJobChangeSchema,
  retryJobSchema,
  retryPreviewSchema,
  retryRequestSchema,
} from './schemas.contract.ts';
import { deadLetterStatuses, deliveryStatuses, failureClasses } from './values.ts';

export * from './incidents.contract.ts';
export * from './schemas.contract.ts';

/** A page of rows, as every list answers it. `next_cursor` is null on the last page. */
const page = <T extends Parameters<typeof Type.Array>[0]>(row: T) =>
  Type.Object({ data: Type.Array(row), next_cursor: nullable(Type.String()) });

/** An endpoint with its secret: the only answers that ever contain one. */
const withSecret = Type.Object({
  ...endpointSchema.properties,
  secret: Type.String({ description: 'whsec_…, shown this once' }),
});

const includeHours = Type.Optional(
  oneOf(['hours'], '`hours`: what became of attempts in the last 24 hours of each endpoint'),
);

/** The routes of the webhooks feature. The server checks requests by them, and docs/http-api.md is made from them. */
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
    stepUp: true,
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
        include: includeHours,
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
    description:
      'What is reported while an endpoint is disabled waits for it, and so does what was queued or pending. Enabling it closes its breaker and delivers what waits, as fast as its rate and its receiver take it; POST …/discard-backlog enables it without. What waited longer than SVC_DELIVERY_DAYS days is abandoned (endpoint_disabled).',
    scope: 'admin',
    stepUp: { when: 'url' },
    params: idParams,
    body: endpointChangeSchema,
    responses: {
      200: { description: 'As it is now.', schema: endpointSchema },
      400: problem,
      404: problem,
    },
  },
  discardBacklog: {
    id: 'discardBacklog',
    method: 'POST',
    path: '/webhook/endpoints/:id/discard-backlog',
    tag: 'Webhooks',
    summary: 'Enable an endpoint without what waits for it',
    description:
      'Discards what is queued or pending of a disabled endpoint at this moment, then enables it; what is reported later is delivered. A large backlog takes a while: then the endpoint is disabled in the answer, backlog.is_discarding says so, and it is enabled when all is discarded. The audit log says at its end how much that was. To enable or disable it meanwhile ends that. Abandoned deliveries stay.',
    scope: 'admin',
    stepUp: true,
    params: idParams,
    responses: {
      200: { description: 'As it is now.', schema: endpointSchema },
      404: problem,
      409: problem,
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
    stepUp: true,
    params: idParams,
    responses: { 204: { description: 'Deleted.' }, 404: problem },
  },
  rotateSecret: {
    id: 'rotateSecret',
    method: 'POST',
    path: '/webhook/endpoints/:id/rotate-secret',
    tag: 'Webhooks',
    summary: 'Give an endpoint a new secret',
    description:
      'Every secret that was rotated out within the last 24 hours signs as well, the newest five at most.',
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
    description:
      'It is sent at once, past the endpoint’s queue, breaker and rate, and the answer tells what came of it. A ping that fails is retried like any delivery.',
    scope: 'admin',
    params: idParams,
    responses: {
      202: { description: 'Sent.', schema: pingedDeliverySchema },
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
    scope: 'incidents:read',
    query: incidentsQuerySchema,
    responses: {
      200: {
        description:
          'One page. With a type or a store it may be short while next_cursor is set: the scan behind one page is bounded.',
        schema: page(listedIncidentSchema),
      },
      400: problem,
    },
  },
  getIncident: {
    id: 'getIncident',
    method: 'GET',
    path: '/incidents/:id',
    tag: 'Webhooks',
    summary: 'Show an incident and its deliveries',
    scope: 'incidents:read',
    params: idParams,
    responses: {
      200: { description: 'The incident.', schema: incidentDetailSchema },
      404: problem,
    },
  },
  eraseIncident: {
    id: 'eraseIncident',
    method: 'POST',
    path: '/incidents/:id/erase',
    tag: 'Webhooks',
    summary: 'Erase what an incident tells for good',
    description:
      'Its payload, the text of its idempotency key and the stored answers of receivers. Times, sizes and states stay. What waits to be sent is discarded; what is abandoned stays so and cannot be retried. A replay under its key gets the same answer and sends nothing. Refused while the tenant is on hold (409 tenant_on_hold).',
    scope: 'admin',
    stepUp: true,
    params: idParams,
    responses: {
      200: { description: 'The receipt.', schema: incidentReceiptSchema },
      404: problem,
      409: problem,
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
        include: includeHours,
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
  getDeliveryHours: {
    id: 'getDeliveryHours',
    method: 'GET',
    path: '/stats/deliveries',
    tag: 'Webhooks',
    summary: 'What became of attempts, hour by hour',
    description:
      'From counters kept in the transactions that store outcomes: exact, and for all tenants independent of the number of endpoints. Known for 14 days.',
    scope: 'admin',
    query: Type.Object(
      {
        tenant: Type.Optional(tenantSchema),
        endpoint_id: Type.Optional(idSchema),
        hours: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 336,
            default: 24,
            description: 'how many, the present one included',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: { description: 'The hours, the oldest first.', schema: deliveryHoursSchema },
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
    description:
      'The answers of its attempts are removed at once, and its payload, too, unless another delivery of the incident waits or can be retried.',
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
