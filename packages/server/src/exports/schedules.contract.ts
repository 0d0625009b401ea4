import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  fits,
  instantSchema,
  newStoreSchema,
  newTenantSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { csvRequestSchema, templateSchema } from './contract.ts';
import { typedSchema } from './jobs.contract.ts';
import {
  exportFormats,
  exportStates,
  missingRules,
  runEventTypes,
  scheduleStarts,
  scheduleStates,
} from './values.ts';

const { kind, where, dataset, columns, compression, header, profile } = csvRequestSchema.properties;

/** What a schedule exports of what was stored, as the body of an export has it. */
const selection = {
  store: Type.Optional(newStoreSchema),
  kind,
  where,
  dataset,
  columns,
  compression,
  header,
  profile,
  typed: optional.boolean({
    description:
      'of Parquet: the fields of the enrichment as columns of their types, found in what is stored when the schedule is made; what fits none of them goes to `_rest` as JSON, and is counted',
  }),
  template: Type.Optional(templateSchema('It goes with ndjson, and without columns')),
  missing: Type.Optional(
    oneOf(
      missingRules,
      'a record that has no value for a reference: skip (default) leaves it out and counts it; refuse fails the run, and so each later one, until the record is gone. It needs `template`',
    ),
  ),
};

const nameSchema = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  [fits]: 'letters, digits and ._-, of which the first is a letter or a digit',
  description:
    'such as nightly: letters, digits and ._-; one of each name in a tenant; by default the format and some letters',
});
const cronSchema = Type.String({
  maxLength: 200,
  description: 'five fields in UTC, such as 0 2 * * *: each day at 02:00',
});
const toSchema = Type.String({
  minLength: 1,
  maxLength: 1000,
  description:
    'a folder below one of SVC_EXPORT_ROOTS, or s3://bucket/path?region=…&endpoint=…; with {tenant}, {schedule} and {date}, the day on which the run begins',
});
const credentialsSchema = exactly(
  {
    access_key_id: Type.String({ minLength: 1, maxLength: 200 }),
    secret_access_key: Type.String({ minLength: 1, maxLength: 500 }),
  },
  { description: 'of S3; the secret is sealed, and never shown' },
);

const webhookSchema = Type.Boolean({
  description: `whether the end of each run is reported as an incident of its tenant, of type ${runEventTypes.join(' or ')}`,
});

/** An export that is delivered by itself. */
export const scheduleSchema = Type.Object({
  id: Type.String(),
  tenant: tenantSchema,
  name: Type.String(),
  cron: Type.String(),
  format: oneOf(exportFormats),
  request: Type.Object({}, { additionalProperties: true, description: 'what is exported' }),
  to: Type.String({ description: 'where it delivers' }),
  access_key_id: nullable(Type.String({ description: 'of S3; null for a folder' })),
  schema: Type.Optional({
    ...typedSchema,
    description: 'of typed Parquet: the same in all runs; not in lists',
  }),
  webhook: webhookSchema,
  state: oneOf(
    scheduleStates,
    'running: a run is under way. failing: the last run failed; its records go out in the next, an hour later at the latest. paused: nothing begins by itself',
  ),
  due_at: nullable({ ...instantSchema, description: 'when the next run begins; null: paused' }),
  delivered_before: nullable({
    ...instantSchema,
    description: 'what was stored before is delivered; null: nothing yet',
  }),
  last_run: nullable(
    Type.Object(
      {
        id: Type.String({ description: 'of the export' }),
        state: oneOf(exportStates),
        rows: nullable(Type.Integer()),
        misfits: nullable(
          Type.Integer({
            description: 'of typed Parquet: rows with something other than null in `_rest`',
          }),
        ),
        skipped: nullable(
          Type.Integer({ description: 'of a template: records without a value for it' }),
        ),
        delivered_to: Type.String(),
        delivered_at: nullable({ ...instantSchema, description: 'null: not yet, or never' }),
        created_at: instantSchema,
        error: nullable(Type.String()),
      },
      { description: 'null before the first' },
    ),
  ),
  created_by: Type.String({ description: 'the name of the token' }),
  created_at: instantSchema,
});
export type Schedule = Static<typeof scheduleSchema>;

/** The body of `POST /exports/schedules`. */
export const newScheduleSchema = exactly({
  tenant: newTenantSchema,
  name: Type.Optional(nameSchema),
  cron: cronSchema,
  format: oneOf(exportFormats),
  to: toSchema,
  credentials: Type.Optional(credentialsSchema),
  webhook: Type.Optional(webhookSchema),
  starts: Type.Optional(
    oneOf(
      scheduleStarts,
      'all (default): the first run delivers all that is stored. now: only what is stored from now on',
    ),
  ),
  ...selection,
});
export type NewSchedule = Static<typeof newScheduleSchema>;

/** The body of `PATCH /exports/schedules/:id`. Only what is named changes. */
export const scheduleChangeSchema = exactly(
  {
    enabled: optional.boolean({ description: 'false pauses it' }),
    cron: Type.Optional(cronSchema),
    to: Type.Optional(toSchema),
    credentials: Type.Optional(credentialsSchema),
    webhook: Type.Optional(webhookSchema),
  },
  { minProperties: 1 },
);
export type ScheduleChange = Static<typeof scheduleChangeSchema>;

const shown = { description: 'As it is now.', schema: scheduleSchema };

/** The routes of schedules. */
export const schedulesContract = routesUnder('Exports', {
  createSchedule: {
    route: 'POST /exports/schedules',
    summary: 'Have exports delivered by themselves',
    description:
      'Each run delivers what was stored since the last one that was delivered, into a folder of its own: files, then manifest.json, and _SUCCESS last. See docs/schedules.md. The place is tried first: a small object is written, read back and removed there.',
    scope: 'admin',
    stepUp: true,
    body: newScheduleSchema,
    responses: { 201: { description: 'Made.', schema: scheduleSchema }, 409: problem },
  },
  listSchedules: {
    route: 'GET /exports/schedules',
    summary: 'List schedules and how their last runs went',
    description: 'By tenant and name.',
    scope: 'analytics:read',
    query: exactly({ tenant: Type.Optional(tenantSchema), ...paging }),
    responses: onePage(scheduleSchema),
  },
  getSchedule: {
    route: 'GET /exports/schedules/:id',
    summary: 'Show a schedule',
    description: 'GET /exports?schedule= lists its runs.',
    scope: 'analytics:read',
    responses: { 200: shown },
  },
  changeSchedule: {
    route: 'PATCH /exports/schedules/:id',
    summary:
      'Pause or resume a schedule, change its times, its place, its credentials or what is told of it',
    description:
      'A schedule that goes on begins one run for all times that it missed, at its next time. A new place, and new credentials, are tried first. The next run delivers at the new place what it would have delivered at the old one, where a run that is under way ends. Another folder of the same bucket keeps the credentials; another bucket needs some.',
    scope: 'admin',
    stepUp: { when: ['to', 'credentials'] },
    body: scheduleChangeSchema,
    responses: { 200: shown },
  },
  runSchedule: {
    route: 'POST /exports/schedules/:id/run',
    summary: 'Begin a run now',
    description: 'Also of a paused one. While a run is under way, the next one begins after it.',
    scope: 'admin',
    responses: { 200: shown },
  },
  deleteSchedule: {
    route: 'DELETE /exports/schedules/:id',
    summary: 'Delete a schedule',
    description: 'A run under way is cancelled. What was delivered stays, and so do its exports.',
    scope: 'admin',
    stepUp: true,
    responses: { 204: { description: 'Deleted.' } },
  },
});
