import { type Static, Type } from 'typebox';
import {
  exactly,
  fits,
  instantSchema,
  newStoreSchema,
  newTenantSchema,
  nullable,
  oneOf,
  paging,
  remainsSchema,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { ingestAnswerSchema } from '../records/contract.ts';
import { acceptedDeliverySchema } from './deliveries.contract.ts';
import {
  eventTypeSchema,
  eventTypesSchema,
  filterSchema,
  idSchema,
  reportedTimes,
  searchFilters,
  storesSchema,
} from './schemas.contract.ts';
import { deliveryStatuses, filterReasons } from './values.ts';

/** The body of `POST /incidents`. The limit on `data` holds for the whole payload that receivers get. */
export const newIncidentSchema = exactly({
  tenant: newTenantSchema,
  store: Type.Optional(newStoreSchema),
  group: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^\\u0000-\\u001f\\ud800-\\udfff]*$',
      [fits]: 'text without control characters',
      description: 'what it belongs to, as case-812: endpoints ordered by group get these in order',
    }),
  ),
  type: eventTypeSchema,
  occurred_at: Type.Optional(instantSchema),
  data: Type.Unknown({
    description:
      'any JSON without U+0000, half surrogate pairs or repeated keys; 256 KiB with the rest of the payload',
  }),
  idempotency_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[!-~]+$',
      [fits]: 'printable ASCII without spaces',
      description:
        'printable ASCII; the same key gives the same answer for 30 days, and as long as a delivery of it is kept',
    }),
  ),
});

/** The body of `POST /webhook/filters/test`: what an endpoint would want. */
export const filterTrialSchema = exactly({
  tenant: tenantSchema,
  event_types: Type.Optional(eventTypesSchema),
  stores: Type.Optional(storesSchema),
  where: Type.Optional(filterSchema),
  incident: Type.Optional(
    exactly(
      {
        type: eventTypeSchema,
        store: Type.Optional(newStoreSchema),
        occurred_at: Type.Optional(instantSchema),
        data: Type.Unknown(),
      },
      { description: 'the one to look at, instead of those that were reported' },
    ),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 100,
      description: 'how many of the newest incidents to look at',
    }),
  ),
});

export const triedFilterSchema = Type.Object({
  looked_at: Type.Integer(),
  passed: Type.Integer(),
  data: Type.Array(
    Type.Object({
      id: nullable(Type.String({ description: 'null: the one that was given' })),
      created_at: nullable(instantSchema),
      type: Type.String(),
      store: nullable(Type.String()),
      passes: Type.Boolean(),
      reason: nullable(
        oneOf(
          filterReasons,
          'what keeps it back; too_costly: the filter took too long, and it would be delivered without it',
        ),
      ),
    }),
    { description: 'the newest first' },
  ),
});

export const acceptedIncidentSchema = Type.Object({
  id: Type.String(),
  deliveries: Type.Array(acceptedDeliverySchema),
  held_back: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'ids of endpoints that want it and get it by a replay, because too much of their tenant waits already',
    }),
  ),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'what does not fit the catalogue of event types, where SVC_EVENT_TYPES has that told',
    }),
  ),
});

export const reportedLinesSchema = Type.Object({
  accepted: Type.Integer({ description: 'incidents that are stored now, and durable' }),
  duplicates: Type.Integer({ description: 'reported before, under the same idempotency key' }),
  deliveries: Type.Integer({ description: 'made for those that are accepted' }),
  held_back: Type.Optional(
    Type.Integer({
      description: 'deliveries that were not made, because too much waits: a replay makes them',
    }),
  ),
  rejected: {
    ...ingestAnswerSchema.properties.rejected,
    description: 'the first 1,000; `code` is that of a report alone, or tenant_not_allowed',
  },
  rejected_count: Type.Integer(),
  warnings: Type.Optional(
    Type.Array(Type.Object({ index: Type.Integer(), message: Type.String() }), {
      description: 'what a report alone would be warned of: the first 100',
    }),
  ),
});
export type ReportedLines = Static<typeof reportedLinesSchema>;

const incidentSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  store: nullable(Type.String()),
  type: Type.String(),
  occurred_at: instantSchema,
  created_at: instantSchema,
});
export type IncidentRow = Static<typeof incidentSchema>;

/** With `include=delivery_counts`: how many deliveries of an incident are in each status. */
export const deliveryCountsSchema = Type.Object({
  queued: Type.Integer(),
  pending: Type.Integer(),
  abandoned: Type.Integer(),
  delivered: Type.Integer(),
  discarded: Type.Integer(),
});

export const listedIncidentSchema = Type.Object({
  ...incidentSchema.properties,
  delivery_counts: Type.Optional(deliveryCountsSchema),
  held_back: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'with delivery_counts: ids of endpoints from which it was held back, and that have no delivery of it since',
    }),
  ),
  group: Type.Optional(
    nullable(
      Type.String({ description: 'with delivery_counts: what it was reported to belong to' }),
    ),
  ),
  excerpt: Type.Optional(
    nullable(
      Type.String(),
      'with delivery_counts: how its data begins, as it was sent, 160 characters at most; null: it was erased',
    ),
  ),
});

/** An incident with what is sent of it, and its deliveries. */
export const incidentDetailSchema = Type.Object({
  ...incidentSchema.properties,
  data: Type.Unknown(),
  body: Type.String({ description: 'what is sent, to the letter' }),
  size_bytes: Type.Integer({ description: 'of what is sent, also after it was erased' }),
  erased_at: nullable({ ...instantSchema, description: 'since then its data is null' }),
  request_id: nullable(
    Type.String({
      description:
        'of the call that reported the incident, as its answer had it in X-Request-Id; the drainer’s log names it',
    }),
  ),
  deliveries: Type.Array(acceptedDeliverySchema),
  filtered_out: Type.Array(Type.String(), {
    description:
      'ids of endpoints that wanted its type and store, and whose filters let it not through when it was reported',
  }),
  held_back: Type.Array(Type.String(), {
    description:
      'ids of endpoints that did not get it when it was reported, because too much of their tenant waited: a replay of what they missed sends it',
  }),
});

export const erasedIncidentsSchema = Type.Object({
  count: Type.Integer({ description: 'incidents whose payload is removed' }),
  cancelled: Type.Integer({ description: 'deliveries that waited to be sent, and are discarded' }),
  answers: Type.Integer({ description: 'stored answers of receivers' }),
  keys: Type.Integer({ description: 'idempotency keys; a hash of each stays' }),
});

/** The receipt of `POST /incidents/:id/erase`. */
export const incidentReceiptSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  erased_at: { ...instantSchema, description: 'since when its payload is gone' },
  erased: erasedIncidentsSchema,
  remains: remainsSchema,
});

/** The query of `GET /incidents`. The days are those on which incidents were reported. */
export const incidentsQuerySchema = exactly({
  tenant: Type.Optional(tenantSchema),
  store: Type.Optional(storeSchema),
  ...searchFilters,
  delivery_status: Type.Optional(
    oneOf(
      deliveryStatuses,
      'only those of which a delivery is in this state; one and the same delivery has to have the state, the endpoint, the class and the status that are asked for',
    ),
  ),
  endpoint_id: Type.Optional(idSchema),
  ...reportedTimes,
  deliveries: Type.Optional(
    oneOf(['failed'], '`failed`: only those of which a delivery is pending or abandoned'),
  ),
  include: Type.Optional(
    oneOf(
      ['delivery_counts'],
      '`delivery_counts`: how many deliveries are in each status, and what tells incidents apart',
    ),
  ),
  ...paging,
});
