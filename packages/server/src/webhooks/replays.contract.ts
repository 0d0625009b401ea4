import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  instantSchema,
  nullable,
  oneOf,
  optional,
  problem,
} from '../platform/http/schemas.contract.ts';
import { bulkJobSchema } from './deliveries.contract.ts';
import { eventTypesSchema, idSchema } from './schemas.contract.ts';
import {
  openJobStates,
  replayFilters,
  replayIds,
  replaySelections,
  retryStates,
} from './values.ts';

const rateSchema = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: 'deliveries queued a second, at most',
});

/** The body of `POST /webhook/endpoints/:id/replay`. The range is that of the reports. */
export const replayRequestSchema = exactly({
  since: Type.Optional({
    ...instantSchema,
    description: 'incidents reported from then on; needed unless incident_id is given',
  }),
  until: Type.Optional({
    ...instantSchema,
    description: 'incidents reported before then; now when it is left out, and at most',
  }),
  incident_id: Type.Optional({ ...idSchema, description: 'one incident instead of a range' }),
  event_types: Type.Optional({
    ...eventTypesSchema,
    description: 'only incidents of these types; "incident.*" = all that begin so',
  }),
  only: Type.Optional({
    ...oneOf(
      replaySelections,
      'missed: what the endpoint never got; failed: its dead letters; delivered: what it got, once more',
    ),
    default: 'missed',
  }),
  ids: Type.Optional({
    ...oneOf(
      replayIds,
      'what was delivered comes under a new webhook-id, or under the same: receivers that drop repeats drop it then',
    ),
    default: 'new',
  }),
  filters: Type.Optional({
    ...oneOf(
      replayFilters,
      'apply: only what the endpoint wants now, by its types, stores and filter; ignore: whatever these say',
    ),
    default: 'apply',
  }),
  rate: Type.Optional(rateSchema),
  dry_run: optional.boolean({ default: false, description: 'only say what would be sent' }),
});
export type ReplayRequest = Static<typeof replayRequestSchema>;

/** What a replay would do. Each incident of the range is counted once. */
export const replayPreviewSchema = Type.Object({
  since: instantSchema,
  until: instantSchema,
  count: Type.Integer({ description: 'deliveries that would be made, or re-armed' }),
  missed: Type.Integer({ description: 'the endpoint has no delivery of it' }),
  discarded: Type.Integer({ description: 'its delivery was discarded; `missed` sends it as well' }),
  failed: Type.Integer({ description: 'its last delivery is a dead letter' }),
  delivered: Type.Integer({ description: 'its last delivery was delivered' }),
  waiting: Type.Integer({ description: 'left alone: its last delivery is queued' }),
  unwanted: Type.Integer({
    description:
      'left alone: by its types, stores and filter the endpoint does not want it now, whatever it got of it',
  }),
  erased: Type.Integer({ description: 'left alone: its payload was erased' }),
  filtered_until: nullable(
    instantSchema,
    'the filter was asked about what was reported up to then, since more would take too long; what came later is counted as if it passed; null: it was asked about all, or there is none',
  ),
  counted_until: nullable(
    instantSchema,
    'what was reported later was not counted, since it would take too long, so all counts are at least these; null: all was counted',
  ),
  forgotten_before: nullable(
    instantSchema,
    'what was reported before then is left alone: nobody knows any more what was delivered; null: the range begins later',
  ),
  notes: Type.Array(Type.String(), {
    description: 'what to know before, in sentences: above all what receivers make of repeats',
  }),
});
export type ReplayPreview = Static<typeof replayPreviewSchema>;

export const replaySchema = Type.Object({
  id: Type.String(),
  state: oneOf(retryStates),
  tenant: Type.String(),
  endpoint_id: Type.String(),
  since: instantSchema,
  until: instantSchema,
  incident_id: nullable(Type.String()),
  event_types: nullable(Type.Array(Type.String())),
  only: oneOf(replaySelections),
  ids: oneOf(replayIds),
  filters: oneOf(replayFilters),
  rate: nullable(Type.Integer()),
  waits_for_endpoint: Type.Boolean({
    description: 'its endpoint is disabled: what is queued waits, and so does the rest',
  }),
  waits_for_room: Type.Boolean({
    description: 'so much waits for its endpoint that nothing is added: it goes on once less does',
  }),
  rows_total: nullable(
    Type.Integer(),
    'as counted when it was asked for, or what is done once that is more; null: there were too many to count, or none',
  ),
  rows_done: Type.Integer({ description: 'deliveries made or re-armed' }),
  rows_skipped: Type.Integer({ description: 'dead letters of which an attempt was under way' }),
  outcome: bulkJobSchema.properties.outcome,
  error: nullable(
    Type.String({
      description: 'why it ended before its time, or what was forgotten before its turn',
    }),
  ),
  created_by: Type.String(),
  created_at: instantSchema,
  updated_at: instantSchema,
  finished_at: nullable(instantSchema),
});
export type ReplayRow = Static<typeof replaySchema>;

const replayChangeSchema = exactly(
  { state: Type.Optional(oneOf(openJobStates)), rate: Type.Optional(nullable(rateSchema)) },
  { minProperties: 1 },
);

/** The routes of replays. They are listed, and cancelled, with the jobs of all kinds. */
export const replaysContract = routesUnder('Webhooks', {
  replayEndpoint: {
    scope: 'deliveries:retry',
    route: 'POST /webhook/endpoints/:id/replay',
    summary: 'Send an endpoint again what was reported in a range of time, as a job',
    description:
      'dry_run answers 200 with what it would do. In the order of the reports it makes a delivery of each incident that is selected, or re-arms its dead letter, which keeps its webhook-id. New reports go first. No more than 2,000 of its deliveries wait at a time. Pings are not sent again. Another replay of the endpoint whose range overlaps is refused (409 replay_overlaps). POST /jobs/:id/cancel ends it.',
    body: replayRequestSchema,
    responses: {
      202: { description: 'The job.', schema: replaySchema },
      200: { description: 'dry_run: what it would do.', schema: replayPreviewSchema },
      409: problem,
    },
  },
  getReplay: {
    scope: 'webhooks:read',
    route: 'GET /webhook/replays/:id',
    summary: 'Show how far a replay is, and what became of its deliveries',
    responses: { 200: { description: 'The replay.', schema: replaySchema } },
  },
  changeReplay: {
    scope: 'deliveries:retry',
    route: 'PATCH /webhook/replays/:id',
    summary: 'Pause, resume or pace a replay',
    body: replayChangeSchema,
    responses: { 200: { description: 'The replay.', schema: replaySchema }, 409: problem },
  },
});
