import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  fits,
  instantSchema,
  nullable,
  optional,
  pageOf,
  paging,
} from '../platform/http/schemas.contract.ts';
import { eventTypeSchema } from './schemas.contract.ts';

const descriptionSchema = Type.String({
  maxLength: 1000,
  pattern: '^[^\\u0000\\ud800-\\udfff]*$',
  [fits]: 'text without U+0000',
  description: 'when it is reported, and what its data says; at most 1,000 characters',
});
const jsonSchemaSchema = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'a JSON Schema of `data` (2020-12, 2019-09 or draft 7, as `$schema` says): at most 32 KiB, 32 levels deep, and `$ref` only to a part of itself, as `#/$defs/…`',
});
const sampleSchema = Type.Unknown({
  description: '`data` as it may be reported, at most 32 KiB; it fits the schema',
});

/** A type of events, as the catalogue has it. */
export const catalogueTypeSchema = Type.Object({
  type: Type.String(),
  description: nullable(descriptionSchema),
  schema: nullable(jsonSchemaSchema),
  sample: sampleSchema,
  deprecated: Type.Boolean({ description: 'it is to be reported and wanted no more' }),
  created_at: instantSchema,
  updated_at: instantSchema,
});
export type CatalogueType = Static<typeof catalogueTypeSchema>;

/** The body of `PUT /webhook/event-types/:type`. What is missing is empty. */
export const newCatalogueTypeSchema = exactly({
  description: Type.Optional(nullable(descriptionSchema)),
  schema: Type.Optional(nullable(jsonSchemaSchema)),
  sample: Type.Optional(sampleSchema),
  deprecated: optional.boolean({ default: false }),
});

const forAll = 'Only for tokens that reach all tenants (403).';

export const eventTypesContract = routesUnder('Webhooks', {
  listEventTypes: {
    route: 'GET /webhook/event-types',
    summary: 'List the types of events',
    description:
      'The catalogue says what may be reported, and how its data looks. What becomes of a report that it does not fit: SVC_EVENT_TYPES. Whoever may read it finds it also as `webhooks` of /openapi.json.',
    scope: 'incidents:read',
    query: exactly(paging),
    responses: { 200: { description: 'One page, by type.', schema: pageOf(catalogueTypeSchema) } },
  },
  getEventType: {
    route: 'GET /webhook/event-types/:type',
    summary: 'Show a type of events',
    scope: 'incidents:read',
    responses: { 200: { description: 'The type.', schema: catalogueTypeSchema } },
  },
  setEventType: {
    route: 'PUT /webhook/event-types/:type',
    summary: 'Describe a type of events',
    description: `Adds the type to the catalogue, of 1,000 types at most, or replaces what that says of it. The type is a dotted name such as incident.created. ${forAll}`,
    scope: 'admin',
    params: Type.Object({ type: eventTypeSchema }),
    body: newCatalogueTypeSchema,
    responses: { 200: { description: 'As it is now.', schema: catalogueTypeSchema } },
  },
  deleteEventType: {
    route: 'DELETE /webhook/event-types/:type',
    summary: 'Take a type out of the catalogue',
    description: `Endpoints, incidents and deliveries stay as they are. ${forAll}`,
    scope: 'admin',
    responses: { 204: { description: 'Gone.' } },
  },
});
