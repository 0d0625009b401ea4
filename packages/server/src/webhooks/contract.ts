import { Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  oneOf,
  onePage,
  paging,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { ingestProblem } from '../records/contract.ts';
import { deadLettersContract } from './dead-letters.contract.ts';
import { deliverySchema, pingedDeliverySchema } from './deliveries.contract.ts';
import { eventTypesContract } from './event-types.contract.ts';
import {
  acceptedIncidentSchema,
  filterTrialSchema,
  incidentDetailSchema,
  incidentReceiptSchema,
  incidentsQuerySchema,
  listedIncidentSchema,
  newIncidentSchema,
  reportedLinesSchema,
  triedFilterSchema,
} from './incidents.contract.ts';
import { orderContract } from './order.contract.ts';
import { pullContract } from './pull.contract.ts';
import { replaysContract } from './replays.contract.ts';
import {
  deliveryHoursSchema,
  endpointChangeSchema,
  endpointSchema,
  foundPageOf,
  idSchema,
  includeHours,
  newEndpointSchema,
  reportedTimes,
  searchFilters,
} from './schemas.contract.ts';
import { endpointStorySchema } from './story.contract.ts';
import { deliveryStatuses, endpointHealths, shownOutcomes, worstFirst } from './values.ts';

export * from './dead-letters.contract.ts';
export * from './deliveries.contract.ts';
export * from './delivery-settings.contract.ts';
export * from './event-types.contract.ts';
export * from './incidents.contract.ts';
export * from './order.contract.ts';
export * from './overview.contract.ts';
export * from './pull.contract.ts';
export * from './replays.contract.ts';
export * from './schemas.contract.ts';
export * from './story.contract.ts';

/** An endpoint as it is shown alone. */
const toldEndpointSchema = Type.Object({
  ...endpointSchema.properties,
  story: Type.Optional(endpointStorySchema),
});

/** An endpoint with its secret: the only answers that ever contain one. */
const withSecret = Type.Object({
  ...endpointSchema.properties,
  secret: Type.String({ description: 'whsec_…, shown this once' }),
});

/** The routes of the webhooks feature. The server checks requests by them, and docs/http-api.md is made from them. */
export const webhooksContract = {
  ...routesUnder('Webhooks', {
    createEndpoint: {
      scope: 'endpoints:manage',
      route: 'POST /webhook/endpoints',
      summary: 'Register an endpoint',
      description:
        'The URL is https, without credentials, and leads to no private or otherwise special address outside SVC_ALLOW_TARGETS (400 target_blocked). The answer is the only place where the secret ever shows.',
      stepUp: true,
      body: newEndpointSchema,
      responses: { 201: { description: 'Registered.', schema: withSecret }, 409: problem },
    },
    listEndpoints: {
      scope: 'webhooks:read',
      route: 'GET /webhook/endpoints',
      summary: 'List the endpoints, by tenant',
      query: exactly({
        tenant: Type.Optional(tenantSchema),
        health: Type.Optional(oneOf(endpointHealths)),
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description:
              'text in the URL before its query, the uid, the name or the description, in any case',
          }),
        ),
        order: Type.Optional(
          oneOf(
            ['health'],
            `\`health\`: ${worstFirst.join(', ')}, each by tenant. One whose health changes between two pages may be missed, or be on both`,
          ),
        ),
        include: includeHours,
        ...paging,
      }),
      responses: onePage(endpointSchema),
    },
    getEndpoint: {
      scope: 'webhooks:read',
      route: 'GET /webhook/endpoints/:id',
      summary: 'Show an endpoint, and how it fared',
      description:
        'The story is made of counters and of the newest attempts: it costs the same whatever the endpoint has been sent.',
      query: exactly({
        include: Type.Optional(
          oneOf(
            ['story'],
            '`story`: its last error, its newest attempts, how it answered, what waits',
          ),
        ),
      }),
      responses: { 200: { description: 'The endpoint.', schema: toldEndpointSchema } },
    },
    changeEndpoint: {
      scope: 'endpoints:manage',
      route: 'PATCH /webhook/endpoints/:id',
      summary: 'Change, disable or enable an endpoint',
      description:
        'What is reported while an endpoint is disabled waits for it, and so does what was queued or pending. Enabling it closes its breaker and delivers what waits, as fast as its rate and its receiver take it; POST …/discard-backlog enables it without. What waited longer than SVC_DELIVERY_DAYS days is abandoned (endpoint_disabled).',
      stepUp: { when: ['url'] },
      body: endpointChangeSchema,
      responses: { 200: { description: 'As it is now.', schema: endpointSchema }, 409: problem },
    },
    discardBacklog: {
      scope: 'webhooks:manage',
      route: 'POST /webhook/endpoints/:id/discard-backlog',
      summary: 'Enable an endpoint without what waits for it',
      description:
        'Discards what is queued or pending of a disabled endpoint at this moment, then enables it; what is reported later is delivered. A large backlog takes a while: then the endpoint is disabled in the answer, backlog.is_discarding says so, and it is enabled when all is discarded. The audit log says at its end how much that was. To enable or disable it meanwhile ends that. Abandoned deliveries stay.',
      stepUp: true,
      responses: { 200: { description: 'As it is now.', schema: endpointSchema }, 409: problem },
    },
    deleteEndpoint: {
      scope: 'webhooks:manage',
      route: 'DELETE /webhook/endpoints/:id',
      summary: 'Delete an endpoint',
      description: 'What was not delivered to it is discarded.',
      stepUp: true,
      responses: { 204: { description: 'Deleted.' } },
    },
    rotateSecret: {
      scope: 'endpoints:manage',
      route: 'POST /webhook/endpoints/:id/rotate-secret',
      summary: 'Give an endpoint a new secret',
      description:
        'Every secret that was rotated out within the last 24 hours signs as well, the newest five at most.',
      stepUp: true,
      responses: {
        200: { description: 'With the new secret, shown this once.', schema: withSecret },
      },
    },
    endOldSecrets: {
      scope: 'endpoints:manage',
      route: 'POST /webhook/endpoints/:id/end-old-secrets',
      summary: 'Let only the present secret and key pair of an endpoint sign',
      description:
        'Ends at once what a rotation, or a new key pair, leaves for 24 hours: for a secret that was disclosed or that its receiver has replaced.',
      stepUp: true,
      responses: { 200: { description: 'As it is now.', schema: endpointSchema } },
    },
    pingEndpoint: {
      scope: 'endpoints:manage',
      route: 'POST /webhook/endpoints/:id/ping',
      summary: 'Send an event of type webhook.ping to an endpoint',
      description:
        'It is sent at once, past the endpoint’s queue, breaker and rate, and the answer tells what came of it. A ping that fails is retried like any delivery.',
      query: exactly({
        type: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 128,
            description:
              'of the catalogue: its sample is sent, as an event of this type that nobody reported',
          }),
        ),
      }),
      responses: { 202: { description: 'Sent.', schema: pingedDeliverySchema }, 409: problem },
    },
    testFilter: {
      scope: 'webhooks:read',
      route: 'POST /webhook/filters/test',
      summary: 'Try what an endpoint would get',
      description:
        'Applies types, stores and a filter as endpoints have them to the newest incidents of a tenant, or to one that is given, and says which an endpoint would get. Nothing is sent or stored. Pings and erased incidents are left out.',
      body: filterTrialSchema,
      responses: { 200: { description: 'What would pass.', schema: triedFilterSchema } },
    },
    reportIncident: {
      route: 'POST /incidents',
      summary: 'Report an incident to the endpoints of its tenant',
      description:
        'The incident and its deliveries are stored together before the answer. The same idempotency key gives the same answer and no second delivery; with another body, 409. As NDJSON, of any length, each line is an incident: the lines are stored in their order, some hundred at a time, and what is wrong with one keeps none of the others back. A stream that breaks off answers what is stored and from which line on the rest is missing. The token is checked again before each part.',
      scope: 'incidents:write',
      checksToken: true,
      headers: {
        'Idempotency-Key':
          'the idempotency_key of the incident, in double quotes or without. Of NDJSON each line that has no key of its own gets this one, `/` and its number from 0: so the whole of it can be sent again, while a part of it needs another key. 180 characters at most then',
      },
      body: newIncidentSchema,
      streamedBody: {
        'application/x-ndjson': newIncidentSchema,
        'application/jsonl': newIncidentSchema,
      },
      responses: {
        202: { description: 'Accepted.', schema: acceptedIncidentSchema },
        207: { description: 'What became of each line.', schema: reportedLinesSchema },
        400: ingestProblem,
        401: ingestProblem,
        409: problem,
        413: ingestProblem,
        415: problem,
        503: ingestProblem,
      },
    },
    listIncidents: {
      route: 'GET /incidents',
      summary: 'List incidents, newest first',
      scope: 'incidents:read',
      query: incidentsQuerySchema,
      responses: {
        200: {
          description:
            'One page. With a filter other than tenant, days and deliveries it may be short while next_cursor is set: one page looks at 10,000 incidents at most, for text about a second.',
          schema: foundPageOf(listedIncidentSchema),
        },
      },
    },
    getIncident: {
      route: 'GET /incidents/:id',
      summary: 'Show an incident and its deliveries',
      scope: 'incidents:read',
      responses: { 200: { description: 'The incident.', schema: incidentDetailSchema } },
    },
    eraseIncident: {
      scope: 'admin',
      route: 'POST /incidents/:id/erase',
      summary: 'Erase what an incident tells for good',
      description:
        'Its payload, the text of its idempotency key and the stored answers of receivers. Times, sizes and states stay. What waits to be sent is discarded; what is abandoned stays so and cannot be retried. A replay under its key gets the same answer and sends nothing. Refused while the tenant is on hold (409 tenant_on_hold).',
      stepUp: true,
      fourEyes: ['erase'],
      responses: {
        200: { description: 'The receipt.', schema: incidentReceiptSchema },
        409: problem,
      },
    },
    listDeliveries: {
      scope: 'webhooks:read',
      route: 'GET /webhook/deliveries',
      summary: 'List deliveries in every state, newest first',
      query: exactly({
        status: Type.Optional(oneOf(deliveryStatuses)),
        tenant: Type.Optional(tenantSchema),
        endpoint_id: Type.Optional(idSchema),
        incident_id: Type.Optional(idSchema),
        ...searchFilters,
        ...reportedTimes,
        job_id: Type.Optional({ ...idSchema, description: 'of a bulk job, or of a replay' }),
        outcome: Type.Optional(
          oneOf(shownOutcomes, 'what has become of it since; only beside `job_id`'),
        ),
        ...paging,
      }),
      responses: {
        200: {
          description:
            'One page. With a filter other than ids, tenant and days it may be short while next_cursor is set: one page looks at 10,000 deliveries at most, for text about a second.',
          schema: foundPageOf(deliverySchema),
        },
      },
    },
    getDeliveryHours: {
      scope: 'webhooks:read',
      route: 'GET /stats/deliveries',
      summary: 'What became of attempts, hour by hour',
      description:
        'From counters kept in the transactions that store outcomes: exact, and for all tenants independent of the number of endpoints. Known for 30 days.',
      query: exactly({
        tenant: Type.Optional(tenantSchema),
        endpoint_id: Type.Optional(idSchema),
        hours: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 720,
            default: 24,
            description: 'how many, the present one included',
          }),
        ),
      }),
      responses: {
        200: { description: 'The hours, the oldest first.', schema: deliveryHoursSchema },
      },
    },
  }),
  ...eventTypesContract,
  ...orderContract,
  ...pullContract,
  ...deadLettersContract,
  ...replaysContract,
};
