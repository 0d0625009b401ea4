import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  dateSchema,
  exactly,
  instantSchema,
  nullable,
  oneOf,
  problem,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { jobStates } from '../platform/jobs/values.ts';
import { recordFilters, whereSchema } from './contract.ts';

export const recordCountSchema = Type.Object({
  count: Type.Integer({ description: 'records of this stretch that are meant' }),
  bytes: Type.Integer({ description: 'their bytes' }),
  looked: Type.Integer({ description: 'records of this stretch in all, by the counters' }),
  searched_to: nullable(
    Type.Object(
      { store: storeSchema, day: dateSchema },
      { description: 'the last day of the stretch; null when there is no other' },
    ),
  ),
  next_cursor: nullable(Type.String()),
});
export type RecordCount = Static<typeof recordCountSchema>;

const countedSlice = { ...recordFilters, tenant: tenantSchema, where: Type.Optional(whereSchema) };
const countRequestSchema = exactly(countedSlice);
export type CountJobRequest = Static<typeof countRequestSchema>;

const countJobSchema = Type.Object({
  id: Type.String(),
  tenant: tenantSchema,
  state: oneOf(jobStates, 'waiting: it goes on by itself; paused: when somebody resumes it'),
  request: countRequestSchema,
  count: Type.Integer({ description: 'records that are meant, as far as it has looked' }),
  bytes: Type.Integer({ description: 'their bytes' }),
  looked: Type.Integer({ description: 'records that it has looked at, by the counters' }),
  total: Type.Integer({
    description: 'records of its days when it was asked for, or more if it has looked at more',
  }),
  recorded_before: { ...instantSchema, description: 'it counts what was stored before' },
  requested_by: Type.String({ description: 'name of the token' }),
  requested_at: instantSchema,
  started_at: nullable(instantSchema),
  finished_at: nullable(instantSchema),
  error: nullable(Type.String(), 'why it failed, or what it waits for'),
});
export type CountJob = Static<typeof countJobSchema>;

export const countContract = routesUnder('Records', {
  countRecords: {
    route: 'GET /enrichment/records/count',
    summary: 'Count records',
    description:
      'Without `kind`, `source` and `where` the counters answer at once. With them the records are read: some 250,000, or 96 MiB, a page. Follow `next_cursor` and add the pages up. All of them count what was stored before the first was asked for, without what is erased or deleted meanwhile, and with the tags as they are.',
    scope: 'enrichment:read',
    stores: 'named',
    query: exactly({ ...countedSlice, cursor: Type.Optional(cursorSchema) }),
    responses: { 200: { description: 'One stretch.', schema: recordCountSchema } },
  },
  startCount: {
    route: 'POST /enrichment/records/count',
    summary: 'Count records in a job',
    description:
      'Counts what is stored now, with the tags of now, for as long as that takes, whoever asked is gone or not. Processes with the role exports do it stretch by stretch; several counts take turns. It fails if records of its slice are erased or deleted meanwhile. It is told for 90 days.',
    scope: 'enrichment:read',
    stores: 'named',
    body: countRequestSchema,
    responses: { 202: { description: 'Queued.', schema: countJobSchema } },
  },
  getCount: {
    route: 'GET /enrichment/records/counts/:id',
    summary: 'Show a count',
    scope: 'enrichment:read',
    stores: 'own',
    responses: { 200: { description: 'The count.', schema: countJobSchema } },
  },
  changeCount: {
    route: 'PATCH /enrichment/records/counts/:id',
    summary: 'Pause, resume or cancel a count',
    description:
      'For the token that asked for it, and admins. What it has counted stays. One that has ended is answered as it is when it is to be cancelled, and else refused with 409 `job_finished`.',
    scope: 'enrichment:read',
    stores: 'own',
    body: exactly({ state: oneOf(['paused', 'running', 'cancelled']) }),
    responses: {
      200: { description: 'The count as it is now.', schema: countJobSchema },
      409: problem,
    },
  },
});
