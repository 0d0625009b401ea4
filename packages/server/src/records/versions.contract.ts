import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  dateSchema,
  digestSchema,
  exactly,
  instantSchema,
  limitSchema,
  nameSchema,
  newTenantSchema,
  nullable,
  oneOf,
  onePage,
  paging,
  problem,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { whereSchema } from './contract.ts';
import { noteSchema } from './tags.contract.ts';
import { datasetNames, versionChanges, versionStates } from './values.ts';

export const sharesSchema = Type.Object(
  {
    train: Type.Integer({ minimum: 0, maximum: 100 }),
    validation: Type.Integer({ minimum: 0, maximum: 100 }),
    test: Type.Integer({ minimum: 0, maximum: 100 }),
  },
  {
    additionalProperties: false,
    description:
      'Percent, 100 together. A record’s place among 0 … 99 is ⌊h × 100 ÷ 2^32⌋, h = the first 8 hex digits of md5(event_id): the first `train` places are train, the next `validation` validation, the rest test. The same event always falls into the same place. With `group_by`, h is that of the group, and shares hold only in the mean.',
  },
);
export type Shares = Static<typeof sharesSchema>;

const groupBySchema = Type.String({
  minLength: 1,
  maxLength: 1000,
  description:
    'keeps records that have the same value there in one split: a key of the enrichment, as `camera_id` or `track.id`, or one of the columns store, kind, source, model; spelled as in `where`. Values are the same if `where` finds them equal: 1 and 1.0 are, 1 and "1" are not, null equals null. A record without a value there, or with an object or an array, is a group by itself. It needs `shares`',
  examples: ['camera_id'],
});

const tripleProperties = { count: Type.Integer(), bytes: Type.Integer(), digest: digestSchema };
const frozenProperties = {
  count: nullable(
    Type.Integer({
      description:
        'records frozen; with `where` it is null, like bytes and digest, until they are counted for the first time',
    }),
  ),
  bytes: nullable(Type.Integer()),
  digest: nullable(digestSchema),
};
const splitSchema = Type.Object({ count: Type.Integer(), digest: digestSchema });

export const versionSchema = Type.Object({
  id: Type.String(),
  tenant: tenantSchema,
  dataset: oneOf(datasetNames),
  name: nameSchema,
  note: nullable(noteSchema),
  shares: nullable(sharesSchema),
  group_by: nullable(groupBySchema),
  where: nullable({ ...whereSchema, description: 'what holds of its records beside the tags' }),
  ...frozenProperties,
  recorded_before: {
    ...instantSchema,
    description: 'records that were stored later are not part of it',
  },
  slices: Type.Array(
    Type.Object({
      tag_id: Type.String(),
      store: nullable(storeSchema),
      from: nullable(dateSchema),
      to: nullable(dateSchema),
      note: nullable(noteSchema),
    }),
    { description: 'the tags as they were' },
  ),
  state: oneOf(
    versionStates,
    'counting: its records are read and compared with the counters, or, with `where`, counted; ready: they were equal; failed: they are not, `error` says how',
  ),
  splits: nullable(Type.Object({ train: splitSchema, validation: splitSchema, test: splitSchema })),
  ungrouped: nullable(
    Type.Integer({
      description:
        'records that are a group by themselves; null without `group_by`, and until they are counted',
    }),
  ),
  warnings: Type.Array(Type.String(), {
    description:
      'what to know before training on it, in words: splits that are off by more than 5 % of all records because groups are large, records that are in no group',
  }),
  current: nullable(
    Type.Object(tripleProperties, { description: 'what is left of it, read from content' }),
  ),
  change: nullable(oneOf(versionChanges, 'why less is left than was frozen')),
  changed_at: nullable(instantSchema),
  error: nullable(Type.String()),
  created_at: instantSchema,
  created_by: Type.String(),
});
export type Version = Static<typeof versionSchema>;

export const newVersionSchema = exactly({
  tenant: newTenantSchema,
  dataset: oneOf(datasetNames),
  name: nameSchema,
  shares: Type.Optional(sharesSchema),
  group_by: Type.Optional(groupBySchema),
  where: Type.Optional(whereSchema),
  note: Type.Optional(noteSchema),
});

export type NewVersion = Static<typeof newVersionSchema>;

const differenceSchema = Type.Object({
  count: Type.Integer(),
  records: Type.Array(
    Type.Object({ store: storeSchema, occurred_at: instantSchema, event_id: Type.String() }),
    { description: 'the first of them, in the order of their keys' },
  ),
});
export type Difference = Static<typeof differenceSchema>;

export const versionDiffSchema = Type.Object({
  added: { ...differenceSchema, description: 'records that `to` has and this version has not' },
  gone: { ...differenceSchema, description: 'records that this version has and `to` has not' },
  moved: {
    ...nullable(differenceSchema),
    description: 'records that both have, in different splits; null unless both have shares',
  },
  stretches_done: Type.Integer({ description: 'how many stretches are read with this page' }),
  stretches_total: Type.Integer(),
  next_cursor: nullable(Type.String()),
});
export type VersionDiff = Static<typeof versionDiffSchema>;

export const versionsContract = routesUnder('Datasets', {
  createVersion: {
    route: 'POST /enrichment/dataset-versions',
    summary: 'Freeze the tagged slices of a tenant into a version',
    description:
      'Immutable: the records that are in the dataset now, whatever is tagged, untagged or arrives later. Retention does not delete them unless it is told to. Its exports are the same byte for byte as long as its records exist.',
    scope: 'datasets:write',
    body: newVersionSchema,
    responses: {
      201: { description: 'The version, being counted.', schema: versionSchema },
      409: problem,
    },
  },
  listVersions: {
    route: 'GET /enrichment/dataset-versions',
    summary: 'List dataset versions',
    description: 'The latest first.',
    scope: 'enrichment:read',
    query: exactly({
      tenant: Type.Optional(tenantSchema),
      dataset: Type.Optional(oneOf(datasetNames)),
      ...paging,
    }),
    responses: onePage(versionSchema),
  },
  getVersion: {
    route: 'GET /enrichment/dataset-versions/:id',
    summary: 'Show a dataset version',
    scope: 'enrichment:read',
    responses: { 200: { description: 'The version.', schema: versionSchema } },
  },
  diffVersions: {
    route: 'GET /enrichment/dataset-versions/:id/diff',
    summary: 'Compare two dataset versions',
    description:
      'What another version `to` of the same tenant has more and less than this one, by what is left of both. Each page reads a stretch of some hundred thousand records of either: follow `next_cursor` to the end, and add up the counts. What both have is what is left of one of them without these. Records do not change: one that was erased and sent again counts as another.',
    scope: 'enrichment:read',
    query: exactly({
      to: Type.String({ description: 'id of the version that is compared with it' }),
      limit: Type.Optional({
        ...limitSchema,
        maximum: 100,
        default: 20,
        description: 'how many records of each kind a page names, the first ones',
      }),
      cursor: Type.Optional(cursorSchema),
    }),
    responses: { 200: { description: 'One page.', schema: versionDiffSchema }, 409: problem },
  },
  deleteVersion: {
    route: 'DELETE /enrichment/dataset-versions/:id',
    summary: 'Delete a dataset version',
    description: 'Records and tags stay; retention need not keep its records any more.',
    scope: 'datasets:write',
    stepUp: true,
    responses: { 204: { description: 'Done.' } },
  },
});
