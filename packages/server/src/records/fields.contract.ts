import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  nullable,
  oneOf,
  optional,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { sliceProperties, whereSchema } from './contract.ts';
import { datasetNames, valueTypes } from './values.ts';

const shareSchema = Type.Object(
  {
    share: Type.Number({ description: 'of the records looked at, 0 … 1' }),
    low: Type.Number(),
    high: Type.Number(),
  },
  { description: 'with the interval in which the share of all records is in 19 of 20 cases' },
);
export type Share = Static<typeof shareSchema>;

const numbersSchema = Type.Object({
  count: Type.Integer({ description: 'numbers found: an array may have several' }),
  beyond: Type.Integer({ description: 'numbers too large for a double; the rest leaves them out' }),
  min: Type.Number(),
  max: Type.Number(),
  quantiles: Type.Array(
    Type.Object({
      percent: Type.Integer(),
      value: Type.Number(),
      low: Type.Number(),
      high: Type.Number(),
    }),
    { description: 'at 5, 25, 50, 75 and 95 %' },
  ),
  buckets: Type.Array(
    Type.Object({ from: Type.Number(), to: Type.Number(), count: Type.Integer() }),
    { description: 'at most 20, from … to (exclusive, but in the last one)' },
  ),
});

const scalarSchema = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

const describedSchema = Type.Object({
  present: Type.Object(shareSchema.properties, { description: 'records that have a value' }),
  nulls: Type.Object(shareSchema.properties, { description: 'records with null only' }),
  missing: Type.Object(shareSchema.properties, { description: 'records without the field' }),
  types: Type.Array(Type.Object({ type: oneOf(valueTypes), ...shareSchema.properties }), {
    description: 'the most frequent first; a record may have several in an array',
  }),
  numbers: nullable(numbersSchema),
  distinct: Type.Integer({ description: 'different values in the records looked at' }),
  values: Type.Array(
    Type.Object({
      value: scalarSchema,
      count: Type.Integer({ description: 'of the records looked at' }),
      ...shareSchema.properties,
    }),
    {
      description:
        'the 20 most frequent texts and booleans, and numbers where there are no more than 20; a text of more than 200 characters is cut',
    },
  ),
});
export type DescribedField = Static<typeof describedSchema>;

const driftSchema = Type.Object({
  distance: Type.Number({
    description: 'Jensen–Shannon distance, 0 (the same) … 1 (nothing in common)',
  }),
  noise: Type.Number({
    description:
      'sampling alone gives less than this in 19 of 20 cases; 0 where all records were looked at',
  }),
});

const fieldSchema = Type.Object({
  name: Type.String({
    description:
      'such as `origin.iata`, `tags[].name` of all elements, or `"a.b".c` where a key is no word',
  }),
  of: oneOf(['record', 'enrichment'], 'record: kind, source, model or confidence'),
  ...describedSchema.properties,
  over_time: Type.Array(
    Type.Object({
      present: Type.Integer({ description: 'records that have a value' }),
      p25: nullable(Type.Number()),
      p50: nullable(Type.Number()),
      p75: nullable(Type.Number()),
      counts: Type.Array(Type.Integer(), { description: 'of the first three `values`' }),
    }),
    { description: 'one for each of `periods`' },
  ),
  against: nullable(describedSchema),
  drift: nullable(driftSchema),
});
export type Field = Static<typeof fieldSchema>;

const fittingSchema = {
  ...nullable(shareSchema),
  description: 'the share of the records of the slice that fit `where`; null without it',
};

export const lookSchema = Type.Object({
  count: Type.Integer({ description: 'records of the slice, from counters' }),
  sampled: Type.Integer({ description: 'records looked at, with `where` those of them that fit' }),
  is_exact: Type.Boolean({ description: 'whether all records were looked at' }),
  unread: Type.Integer({ description: 'records of the sample for which there was no room' }),
  fitting: fittingSchema,
});
export type Look = Static<typeof lookSchema>;

export const fieldsSchema = Type.Object({
  ...lookSchema.properties,
  periods: Type.Array(
    Type.Object({
      period: Type.String({ description: 'a month, or a year where there are many months' }),
      sampled: Type.Integer(),
    }),
    { description: 'empty where there is only one' },
  ),
  fields: Type.Array(fieldSchema, {
    description:
      'at most 100, those in most records; in the order of the records, or the largest drift first, and what is no more than noise last',
  }),
  left_off: Type.Integer({ description: 'fields that were found and are not shown, at least' }),
  against: nullable(lookSchema),
});
export type Fields = Static<typeof fieldsSchema>;

/** What `against` may say. */
const day = String.raw`\d{4}-\d{2}-\d{2}`;
export const againstPattern = `^(all|${datasetNames.join('|')}|\\d{4}-(0[1-9]|1[0-2])|${day}\\.\\.${day})$`;

export const fieldsContract = routesUnder('Records', {
  getFields: {
    route: 'GET /enrichment/fields',
    summary: 'Fields of the enrichments of a slice',
    description:
      'Which fields the enrichments have, and what is in them: of all records when they are few, else of a sample that has stores, days and hours by their numbers of records, and is the same each time. Each share has its interval. With `where` the fields are those of the records that fit, of as many looked at, and `fitting` says how many that are. With `against`: how much each field differs from another slice of the same tenant and store, as a Jensen–Shannon distance over the same buckets, values and types; unlike other measures it stays finite where one side has nothing.',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({
      ...sliceProperties,
      tenant: tenantSchema,
      dataset: Type.Optional(oneOf(datasetNames)),
      where: Type.Optional(whereSchema),
      against: optional.string({
        pattern: againstPattern,
        description:
          'the other slice: `all` or a dataset (of the same days), a month such as 2026-03, or days as 2026-03-01..2026-03-07 (of the same dataset)',
      }),
    }),
    responses: { 200: { description: 'The fields.', schema: fieldsSchema } },
  },
});
