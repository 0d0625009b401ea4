import { type Static, Type } from 'typebox';
import { routesUnder } from '../http/contract.ts';
import {
  exactly,
  instantSchema,
  nullable,
  oneOf,
  onePage,
  paging,
  problem,
  tenantSchema,
} from '../http/schemas.contract.ts';
import { jobKinds, jobStates, jobUnits } from './values.ts';

/** A job of any kind, as the one list of them shows it. */
const listedJobSchema = Type.Object({
  id: Type.String(),
  kind: oneOf(jobKinds),
  state: oneOf(jobStates, 'waiting: it goes on by itself; paused: when somebody resumes it'),
  tenant: nullable(Type.String({ description: 'null: it is of no single tenant' })),
  requested_by: nullable(Type.String({ description: 'name of the token; null: the schedule' })),
  requested_at: instantSchema,
  started_at: nullable(instantSchema, 'null: not yet, or its kind does not note it'),
  finished_at: nullable(instantSchema, 'null: not yet, or its kind does not note it'),
  progress: nullable(
    Type.Object({
      done: Type.Integer(),
      total: nullable(Type.Integer({ description: 'null: not counted' })),
      unit: oneOf(jobUnits),
    }),
    'null: its kind tells only when it has ended',
  ),
  summary: Type.String({ description: 'what it does, in one sentence' }),
  has_faults: Type.Boolean({
    description:
      'it went on to its end, but found faults or left something undone: see its summary',
  }),
  error: nullable(Type.String(), 'why it failed, or what it waits for'),
  href: Type.String({ description: 'path of its own route, which tells all of it' }),
});
export type ListedJob = Static<typeof listedJobSchema>;

const job = { 200: { description: 'The job.', schema: listedJobSchema } } as const;
/** The routes of the one list of all jobs. */
export const jobsContract = routesUnder('Jobs', {
  listJobs: {
    route: 'GET /jobs',
    summary: 'List the jobs of all kinds',
    description:
      'The latest first: exports, retention runs, verifications, bulk re-arms and purges of dead letters, replays to endpoints, countings of dataset versions, counts of records, and imports of files. A token sees the kinds that it may read by their own routes: exports with analytics:read; runs, verifications, versions, counts and imports with enrichment:read; replays with deliveries:retry; re-arms and purges with dlq:operate.',
    scope: 'any',
    stores: 'own',
    query: exactly({
      kind: Type.Optional(oneOf(jobKinds)),
      state: Type.Optional(oneOf(jobStates)),
      tenant: Type.Optional(tenantSchema),
      ...paging,
    }),
    responses: onePage(listedJobSchema),
  },
  getJob: {
    route: 'GET /jobs/:id',
    summary: 'Show a job of any kind',
    scope: 'any',
    stores: 'own',
    responses: job,
  },
  cancelJob: {
    route: 'POST /jobs/:id/cancel',
    summary: 'Cancel a job',
    description:
      'Exports, counts, imports, bulk re-arms, bulk purges and replays can be cancelled, by whoever may by their own routes (403); another kind answers 409 `job_not_cancellable`. A job that was cancelled before is answered as it is, one that has ended otherwise is refused with 409 `job_finished`. What it has done stays.',
    scope: 'any',
    stores: 'own',
    responses: { ...job, 409: problem },
  },
});
