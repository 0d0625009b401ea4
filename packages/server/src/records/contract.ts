import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  dateSchema,
  digestSchema,
  eventIdSchema,
  exactly,
  instantSchema,
  labelSchema,
  monthSchema,
  newStoreSchema,
  newTenantSchema,
  nullable,
  oneOf,
  optional,
  pageOf,
  paging,
  problem,
  problemSchema,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { datasetNames, levels, orders, tiers } from './values.ts';

/** Says which records are meant: of a tenant, a store, a month or whole days, in every list and every export. */
export const sliceProperties = {
  tenant: Type.Optional(tenantSchema),
  store: Type.Optional(storeSchema),
  month: Type.Optional(monthSchema),
  from: Type.Optional({
    ...dateSchema,
    description:
      'a date such as 2026-03-05, up to 2999-12-31: the first day, inclusive; needs `to`, excludes `month`',
  }),
  to: Type.Optional({
    ...dateSchema,
    description:
      'a date such as 2026-03-05, up to 2999-12-31: the last day, inclusive; needs `from`',
  }),
};

const datasetSchema = Type.Object({
  tenant: Type.String(),
  store: nullable(Type.String()),
  month: nullable(monthSchema),
  count: Type.Integer({ description: 'records' }),
  bytes: Type.Integer({ description: 'UTF-8 length of the records as NDJSON lines' }),
  coverage: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: 'covered ÷ count; null when count is 0' }),
  ),
  covered: Type.Integer({ description: 'records in at least one tagged slice' }),
  by_dataset: Type.Object({ training: Type.Integer(), fine_tuning: Type.Integer() }),
  tier: oneOf(tiers),
  stored_bytes: Type.Integer({
    description: 'bytes as stored: hot records as `bytes`, cold ones as their Parquet takes',
  }),
  digest: digestSchema,
  first_at: nullable(instantSchema),
  last_at: nullable(instantSchema),
  days: Type.Optional(
    Type.Array(Type.Integer(), { description: 'records on each day of the month, from the 1st' }),
  ),
  months: Type.Optional(
    Type.Array(Type.String(), { description: 'each month in which the store has records' }),
  ),
});
export type DatasetRow = Static<typeof datasetSchema>;

/** The records of one month, hot and cold. */
export const monthSumSchema = Type.Object({
  month: monthSchema,
  hot_count: Type.Integer(),
  hot_bytes: Type.Integer(),
  cold_count: Type.Integer(),
  cold_bytes: Type.Integer({ description: 'of the cold records, as NDJSON lines' }),
});
export type MonthSum = Static<typeof monthSumSchema>;

const recordSchema = Type.Object({
  tenant: tenantSchema,
  store: storeSchema,
  event_id: Type.String(),
  occurred_at: instantSchema,
  recorded_at: instantSchema,
  kind: nullable(labelSchema),
  source: nullable(labelSchema),
  model: nullable(labelSchema),
  confidence: nullable(
    Type.Number({
      description: 'spelled as it was sent: 0.10 stays 0.10 in the text of the answer',
    }),
  ),
  bytes: Type.Integer(),
  enrichment: Type.Object(
    {},
    { additionalProperties: true, description: 'as it was sent, to the letter' },
  ),
});

const incomingRecordSchema = exactly({
  tenant: newTenantSchema,
  store: newStoreSchema,
  event_id: eventIdSchema,
  occurred_at: Type.String({
    format: 'date-time',
    description: '1970 … now + 1 day, at most 6 fraction digits; decides the month',
  }),
  kind: Type.Optional(nullable(labelSchema)),
  source: Type.Optional(nullable(labelSchema)),
  model: Type.Optional(nullable(labelSchema)),
  confidence: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  enrichment: Type.Object({}, { additionalProperties: true, description: 'at most 256 KiB' }),
});

export const ingestAnswerSchema = Type.Object({
  accepted: Type.Integer({
    description: 'stored now, and durable; in a dry run what would be stored',
  }),
  duplicates: Type.Integer({ description: 'stored before with the same content' }),
  rejected: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'position in the batch or line of the stream, from 0' }),
      code: Type.String(),
      message: Type.String(),
    }),
    { description: 'the first 1,000' },
  ),
  rejected_count: Type.Integer(),
  conflicts: optional.integer({
    description: 'of an import: how many of the rejected are stored with other content',
  }),
});
export type IngestAnswer = Static<typeof ingestAnswerSchema>;

/** What a dry run answers beside what storing would. */
const dryRunSummarySchema = Type.Object({
  warning_count: Type.Integer(),
  by_code: Type.Array(
    Type.Object({
      code: Type.String({ description: 'a reject code or a warning code' }),
      severity: oneOf(['error', 'warning']),
      count: Type.Integer({ description: 'records' }),
    }),
    { description: 'the most frequent first' },
  ),
  by_tenant: Type.Array(
    Type.Object({
      tenant: nullable(
        Type.String({
          description: 'null: it could not be read, or beyond the first 1,000 tenants',
        }),
      ),
      errors: Type.Integer(),
      warnings: Type.Integer(),
    }),
    { description: 'tenants of which something was found' },
  ),
});
export type DryRunSummary = Static<typeof dryRunSummarySchema>;

const dryRunProperties = Type.Partial(
  Type.Object({
    dry_run: Type.Literal(true, { description: 'nothing was stored; absent otherwise' }),
    warnings: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'position in the batch or line of the stream, from 0' }),
        tenant: Type.String(),
        code: Type.String({
          description: 'a warning code of docs/errors.md; at most one of a code for each record',
        }),
        path: Type.String({ description: 'a JSON pointer into the record' }),
        message: Type.String(),
      }),
      {
        description:
          'what would be stored, or is stored already, and other readers choke on: the first 100 of each code',
      },
    ),
    ...dryRunSummarySchema.properties,
  }),
).properties;

const dryRunAnswerSchema = Type.Object({ ...ingestAnswerSchema.properties, ...dryRunProperties });
export type DryRunAnswer = Static<typeof dryRunAnswerSchema>;

/** When a stream breaks off, the problem document says beside the error how far the stream came. */
export const ingestProblem = {
  description:
    'A problem document (RFC 9457); `code` is stable. Of a JSON batch nothing is stored. Of a stream, what its further members say is stored, and durable.',
  schema: Type.Object({
    ...problemSchema.properties,
    ...Type.Partial(ingestAnswerSchema).properties,
    lines_read: optional.integer({ description: 'lines of the stream that came whole' }),
    next_line: optional.integer({
      description:
        'all lines before this one (from 0) are stored, rejected or blank: a next attempt may begin here. Some behind it may be stored, too',
    }),
    next_byte: optional.integer({
      description: 'where that line begins in the stream, once decoded',
    }),
  }),
  mediaType: problem.mediaType,
} as const;
export type IngestProgress = IngestAnswer & {
  lines_read: number;
  next_line: number;
  next_byte: number;
};

/** The codes of rejected records. They never change, and docs/errors.md documents them. */
export const rejectCodes = {
  record_invalid: 'The element is not a JSON object.',
  record_too_large: 'The line or element is longer than any record may be.',
  field_unknown: 'The record has a field that does not exist.',
  field_required: 'The record lacks a field.',
  field_invalid: 'A field of the record has a value that is not allowed.',
  enrichment_too_large: 'The enrichment is larger than the limit.',
  json_invalid: 'The line is not JSON.',
  json_duplicate_key: 'An object has the same key twice.',
  json_null_character: 'A string holds the character U+0000.',
  json_lone_surrogate: 'A string holds half a surrogate pair.',
  json_too_deep: 'The JSON is nested deeper than 100.',
  conflict: 'A record with this identity is stored already, with other content.',
  tenant_not_allowed: 'The token may not write records of this tenant.',
} as const;

/** The codes of a dry run's warnings: what is stored, to the letter, and other readers choke on. They never change. */
export const warningCodes = {
  number_long: 'A number has more than 1,000 characters.',
  number_beyond_double: 'A double makes infinity or 0 of a number, such as 1e400.',
  integer_unsafe: 'An integer is beyond 2^53, and a double changes its last digits.',
  number_inexact: 'A decimal has more digits than a double keeps.',
  key_dotted: 'A key has a dot in it, so that no path can name it.',
  nesting_deep: 'The record is nested deeper than 64.',
} as const;

/** What docs/where.md describes. `parseWhere` checks it. */
export const whereSchema = {
  ...Type.String(),
  description:
    'what must hold of a record, as `score >= 0.9 and model = "v3"`: docs/where.md has the grammar. At most 2,000 characters',
};

export const recordFilters = {
  ...sliceProperties,
  kind: Type.Optional(labelSchema),
  source: Type.Optional(labelSchema),
  dataset: Type.Optional(oneOf(datasetNames)),
};

export const recordsContract = routesUnder('Records', {
  ingestRecords: {
    route: 'POST /enrichment/records',
    checksToken: true,
    summary: 'Store enrichment records',
    description:
      'Either one JSON batch (1–10,000 records, ≤ 32 MiB; all checked before any is stored) or an unbounded NDJSON stream that is committed in parts; one that breaks off answers what is stored and where to go on. The token is checked again before each part: once it is revoked or has expired, the stream ends with 401 and says the same. Bodies may be gzip-coded, and begin with a byte order mark. Beside its records a body may hold 8 MiB of white space, and 32 bytes of it for each byte of a record. Idempotent: the same record again counts as a duplicate. A faulty record is rejected, the others are stored. What is answered as accepted survives a crash in the next instant. A dry run makes all these checks, also against what is stored in both tiers, and stores nothing; see docs/operations/datasets.md for what it cannot tell.',
    scope: 'enrichment:write',
    stores: 'own',
    query: exactly({
      dry_run: optional.boolean({
        description: 'checks the records and answers as if they were stored, with warnings',
      }),
      import: optional.string({
        description:
          'the import that the records belong to (POST /enrichment/imports/jobs): what is new counts in it, and once it has ended nothing is stored (409 job_finished)',
      }),
    }),
    streamedBody: {
      'application/json': exactly({
        records: Type.Array(incomingRecordSchema, { minItems: 1, maxItems: 10_000 }),
      }),
      'application/x-ndjson': incomingRecordSchema,
      'application/jsonl': incomingRecordSchema,
    },
    responses: {
      200: { description: 'What became of each record.', schema: dryRunAnswerSchema },
      400: ingestProblem,
      401: ingestProblem,
      404: problem,
      409: ingestProblem,
      413: ingestProblem,
      503: ingestProblem,
    },
  },
  listDatasets: {
    route: 'GET /enrichment/datasets',
    summary: 'Browse the tree tenant → store → month',
    description:
      'Leaves, or their sums one or two levels up, from counters kept in the transaction that stores the records: exact, and independent of their number.',
    scope: 'enrichment:read',
    stores: 'own',
    query: exactly({
      tenant: sliceProperties.tenant,
      store: sliceProperties.store,
      month: sliceProperties.month,
      level: Type.Optional(oneOf(levels, 'what a row is; month by default')),
      q: Type.Optional({ ...tenantSchema, description: 'prefix of the name at that level' }),
      include: Type.Optional(
        oneOf(
          ['days', 'months'],
          '`days`: one count per day, at level month only; `months`: the names of the months, at level store only',
        ),
      ),
      ...paging,
    }),
    responses: {
      200: { description: 'Ordered by tenant, store, month.', schema: pageOf(datasetSchema) },
    },
  },
  listMonthSums: {
    route: 'GET /stats/records',
    summary: 'Records of each month, hot and cold',
    description:
      'Of all tenants that the token may see, or of one. From one counter for each month of a tenant: its cost does not depend on the number of records, stores and leaves.',
    scope: 'enrichment:read',
    stores: 'own',
    query: exactly({ tenant: sliceProperties.tenant }),
    responses: {
      200: {
        description: 'Every month that has records, the oldest first.',
        schema: Type.Object({ data: Type.Array(monthSumSchema) }),
      },
    },
  },
  listRecords: {
    route: 'GET /enrichment/records',
    summary: 'Page through records',
    description:
      'In the order tenant, store, occurred_at, event_id, or with `order=newest` or `oldest` by time over all stores of a tenant: occurred_at, store, event_id. A walk over all pages sees every record that was there at its start exactly once, whatever is written meanwhile. With `kind`, `source`, `event_id` or `where` a page may be short, or empty, while next_cursor is set, and `searched_to` says how far it has looked: at 10,000 records at most, with a `where` at 16 MiB of them; with an `event_id` and without a dataset at all hot ones, by an index, and at the cold ones of all segments that may hold the event.',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({
      ...recordFilters,
      event_id: Type.Optional(eventIdSchema),
      where: Type.Optional(whereSchema),
      order: Type.Optional(
        oneOf(
          orders,
          '`asc` (by default) and `desc`: store by store; `newest` and `oldest`: by time over all stores of a tenant, which they need, without an `event_id` unless a store is given',
        ),
      ),
      start: optional.string({
        description:
          '`last`, or a time, which needs a store, or a tenant and an order by time: where the first page begins. Its cursors lead both ways',
        examples: ['last', '2026-03-05T14:07:09Z'],
      }),
      ...paging,
    }),
    responses: {
      200: {
        description: 'One page.',
        schema: Type.Object({
          data: Type.Array(recordSchema),
          next_cursor: nullable(Type.String()),
          prev_cursor: nullable(Type.String()),
          searched_to: nullable(
            Type.Object(
              {
                tenant: Type.String(),
                store: nullable(Type.String()),
                occurred_at: nullable(instantSchema),
              },
              {
                description:
                  'how far a page with a filter has looked where it is not full and more records follow; null for pages that are full, the last one, and those that prev_cursor leads to. Without a store: all of the tenant, or by time all of its stores up to `occurred_at`',
              },
            ),
          ),
        }),
      },
    },
  },
  getRecord: {
    route: 'GET /enrichment/records/one',
    summary: 'One record by its identity',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({
      tenant: tenantSchema,
      store: storeSchema,
      occurred_at: { ...instantSchema, description: 'as the record’s occurred_at' },
      event_id: eventIdSchema,
    }),
    responses: { 200: { description: 'The record.', schema: recordSchema }, 404: problem },
  },
});
