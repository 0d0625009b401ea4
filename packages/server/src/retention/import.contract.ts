import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  dateSchema,
  digestSchema,
  exactly,
  newStoreSchema,
  newTenantSchema,
  optional,
  problem,
} from '../platform/http/schemas.contract.ts';
import { parquetType } from './values.ts';

/** Days of stores of a tenant. */
const planSchema = exactly({
  tenant: newTenantSchema,
  leaves: Type.Array(
    exactly({
      store: newStoreSchema,
      days: Type.Array(dateSchema, { minItems: 1, maxItems: 20_000 }),
    }),
    { maxItems: 20_000 },
  ),
  known: Type.Optional(
    Type.Array(
      exactly({
        store: newStoreSchema,
        day: dateSchema,
        count: Type.Integer({ minimum: 1 }),
        bytes: Type.Integer({ minimum: 1 }),
        digest: digestSchema,
      }),
      {
        maxItems: 20_000,
        description: 'days with their records, to be compared with what they hold',
      },
    ),
  ),
});
export type ImportPlan = Static<typeof planSchema>;

const importedSchema = Type.Object({
  id: Type.String({ description: 'of the move in the journal: GET /retention/moves/:id' }),
  tenant: Type.String(),
  count: Type.Integer({ description: 'records' }),
  bytes: Type.Integer({ description: 'UTF-8 length of the records as NDJSON lines' }),
});
export type Imported = Static<typeof importedSchema>;

/** The routes by which an import stores whole days as segments. */
export const importContract = routesUnder('Retention', {
  planImport: {
    route: 'POST /enrichment/imports/plan',
    summary: 'Say which days may be imported as segments',
    description:
      'Of the days that are asked about, those that hold no records, hot or cold, and that the policy of the tenant would move. Of those in `known`, those that hold just these records, by their count, bytes and digest: they need not be sent again. Changes nothing; what is free now may hold records when it is imported.',
    scope: 'enrichment:write',
    body: planSchema,
    responses: { 200: { description: 'The days that are free.', schema: planSchema } },
  },
  importDays: {
    route: 'POST /enrichment/imports',
    summary: 'Import whole days as segments',
    description:
      'Stores new records of one tenant straight in the cold tier, under the journal of moves: all of them, or none. The body is typed rows as Parquet, at most 512 MiB and 20,000 days of stores: the columns tenant, store, event_id, kind, source, model and confidence as text, occurred_at as UTC microseconds, and one STRUCT: `enrichment`, or `keys`, of which those without a value are left out. In place of the STRUCT, `enrichment` may be text: JSON objects without white space between tokens, of at most 10,000 different sets of keys, stored to the letter. Rows ascend by store, occurred_at and event_id. Only days of which POST /enrichment/imports/plan says that they are free are taken (409 days_held otherwise). What is answered is durable. `svcctl records import` does all of this, and sends everything else through POST /enrichment/records.',
    scope: 'enrichment:write',
    query: exactly({
      tenant: newTenantSchema,
      import: optional.string({
        description: 'the import that the records belong to: see POST /enrichment/records',
      }),
    }),
    streamedBody: { [parquetType]: Type.String({ format: 'binary' }) },
    responses: {
      200: { description: 'The records are stored.', schema: importedSchema },
      404: problem,
      409: problem,
    },
  },
});
