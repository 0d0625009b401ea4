import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  dateSchema,
  exactly,
  fits,
  instantSchema,
  labelSchema,
  newStoreSchema,
  newTenantSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
  problem,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { sliceProperties, whereSchema } from './contract.ts';
import { lookSchema } from './fields.contract.ts';
import { datasetNames, tiers } from './values.ts';

export const noteSchema = Type.String({
  maxLength: 1000,
  pattern: '^[^\\u0000\\ud800-\\udfff]*$',
  [fits]: 'text without U+0000',
  description: 'at most 1,000 characters, for people',
});

const byDatasetSchema = Type.Object({ training: Type.Integer(), fine_tuning: Type.Integer() });

export const tagSchema = Type.Object({
  id: Type.String(),
  tenant: tenantSchema,
  store: nullable(storeSchema),
  from: nullable({ ...dateSchema, description: 'first day; null: from the beginning' }),
  to: nullable({ ...dateSchema, description: 'last day, inclusive; null: without end' }),
  dataset: oneOf(datasetNames),
  note: nullable(noteSchema),
  count: Type.Integer({ description: 'records in the window now' }),
  bytes: Type.Integer(),
  created_at: instantSchema,
  created_by: Type.String({ description: 'name of the token' }),
});
export type Tag = Static<typeof tagSchema>;

/** What the caller should know before data of one purpose is used for the other. */
const tagWarningSchema = Type.Object({
  code: oneOf(['in_both_datasets']),
  message: Type.String(),
  count: Type.Integer({ description: 'records that are in both datasets by this tag' }),
});

export const newTagSchema = exactly({
  ...sliceProperties,
  tenant: newTenantSchema,
  store: Type.Optional(newStoreSchema),
  dataset: oneOf(datasetNames),
  note: Type.Optional(noteSchema),
  dry_run: optional.boolean({
    description: 'answers 200 with what it would tag, and changes nothing',
  }),
});

const taggedSchema = Type.Object({
  ...tagSchema.properties,
  id: nullable(Type.String({ description: 'null on a dry run' })),
  warnings: Type.Array(tagWarningSchema),
});
export type Tagged = Static<typeof taggedSchema>;

export const daySchema = Type.Object({
  day: dateSchema,
  count: Type.Integer(),
  bytes: Type.Integer(),
  tier: oneOf(tiers),
  covered: Type.Integer({ description: 'records in at least one tagged slice' }),
  by_dataset: byDatasetSchema,
});
export type DayRow = Static<typeof daySchema>;

const shareSchema = Type.Array(
  Type.Object({
    value: nullable(labelSchema),
    count: Type.Integer({ description: 'of the records looked at' }),
  }),
  { description: 'the 20 most frequent values, then null for records without one' },
);
const { unread: _, ...looked } = lookSchema.properties;
const factsSchema = Type.Object({
  ...looked,
  kinds: shareSchema,
  sources: shareSchema,
  models: shareSchema,
});
export type Facts = Static<typeof factsSchema>;

export const tagsContract = routesUnder('Datasets', {
  createTag: {
    route: 'POST /enrichment/tags',
    summary: 'Tag a slice as training or fine-tuning data',
    description:
      'A window of whole days of a tenant or a store, with the records that arrive in it later. Without days: all of them. Costs nothing at any size: coverage is computed when it is read.',
    scope: 'datasets:write',
    body: newTagSchema,
    responses: {
      200: { description: 'On a dry run: what would be tagged.', schema: taggedSchema },
      201: {
        description:
          'The tag. It stands even with warnings: they say that records are in both datasets now.',
        schema: taggedSchema,
      },
      409: problem,
    },
  },
  listTags: {
    route: 'GET /enrichment/tags',
    summary: 'List tags',
    description: 'The latest first. With days or a store: those that touch them.',
    scope: 'enrichment:read',
    query: exactly({ ...sliceProperties, dataset: Type.Optional(oneOf(datasetNames)), ...paging }),
    responses: onePage(tagSchema),
  },
  deleteTag: {
    route: 'DELETE /enrichment/tags/:id',
    summary: 'Untag',
    description: 'Records stay; versions that were frozen with the tag stay as they are.',
    scope: 'datasets:write',
    responses: { 204: { description: 'Done.' } },
  },
  listDays: {
    route: 'GET /enrichment/days',
    tag: 'Records',
    summary: 'Days of a tenant or a store that have records',
    description: 'Count, tier and datasets of each day, from counters; oldest first.',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({
      ...sliceProperties,
      tenant: tenantSchema,
      limit: optional.integer({ minimum: 1, maximum: 4000, default: 400 }),
      cursor: Type.Optional(cursorSchema),
    }),
    responses: onePage(daySchema),
  },
  getFacts: {
    route: 'GET /enrichment/facts',
    tag: 'Records',
    summary: 'Kinds, sources and models of a slice',
    description:
      'Of all its records when they are few, else of a sample that has its stores, days and hours by their numbers of records, and is the same each time: `is_exact` says which, `sampled` how many of `count`. With `where` they are those of the records that fit, of as many looked at, and `fitting` says how many that are.',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({
      ...sliceProperties,
      tenant: tenantSchema,
      dataset: Type.Optional(oneOf(datasetNames)),
      where: Type.Optional(whereSchema),
    }),
    responses: { 200: { description: 'The facts.', schema: factsSchema } },
  },
});
