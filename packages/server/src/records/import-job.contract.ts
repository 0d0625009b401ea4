import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  fits,
  instantSchema,
  nullable,
  oneOf,
  optional,
  problem,
} from '../platform/http/schemas.contract.ts';
import { jobStates } from '../platform/jobs/values.ts';

/** A number that JSON and PostgreSQL both hold. */
const countOf = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const files = Type.Integer({ minimum: 1, maximum: 10_000_000 });
const total = nullable(countOf('rows of all files; null: not counted'));

/** How far the command that drives an import is: all rows before a place are answered, and counted here. */
const reached = {
  at_file: Type.Integer({ minimum: 0, maximum: 10_000_000, description: 'files that are done' }),
  at_row: countOf('rows of the next file that are done'),
  rows: countOf('rows that are done'),
  sent: countOf('those of them that went through ingest'),
  rejected: countOf('those of them that were rejected'),
  conflicts: countOf('those of the rejected that are stored with other content'),
};

const importStartSchema = exactly({
  digest: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'of the files and of how they are read: it finds the import again',
    [fits]: 'a SHA-256 as 64 hex digits, a to f',
  }),
  files,
  total,
});
export type ImportStart = Static<typeof importStartSchema>;

const importReportSchema = exactly({
  ...reached,
  taken: countOf('rows that hold a record which is stored, new or known'),
  state: Type.Optional(
    Type.Literal('completed', { description: 'ends it; only behind its last file' }),
  ),
  stopped: optional.string({
    pattern: '^[a-z_]{1,64}$',
    description: 'the code of the error with which the command stops; another goes on later',
    [fits]: 'letters a to z and _, at most 64',
  }),
});
export type ImportReport = Static<typeof importReportSchema>;

const importJobSchema = Type.Object({
  id: Type.String(),
  state: oneOf(jobStates, 'running, completed, cancelled; paused: its command is not heard of'),
  files,
  total,
  ...reached,
  taken: Type.Integer({ description: 'rows done that hold a record which is stored' }),
  stored: Type.Integer({ description: 'records that ingest stored, exactly' }),
  cold: Type.Integer({ description: 'records that went straight into segments, exactly' }),
  cold_days: Type.Integer({ description: 'days of stores of which these are' }),
  known: nullable(
    Type.Integer({ description: 'records that were stored before' }),
    'null: it has not ended, and may have stored more than is done',
  ),
  requested_by: Type.String({ description: 'name of the token' }),
  requested_at: instantSchema,
  finished_at: nullable(instantSchema),
  error: nullable(Type.String(), 'why it does not go on'),
});
export type ImportJob = Static<typeof importJobSchema>;

const job = { 200: { description: 'The import as it is now.', schema: importJobSchema } } as const;

export const importJobContract = routesUnder('Records', {
  startImport: {
    route: 'POST /enrichment/imports/jobs',
    summary: 'Begin an import, or go on with it',
    description:
      'An import of files is driven by a command, `svcctl records import`, which names it in what it sends. One of this digest that has not ended is answered as it is: it goes on where it was, and commands that go on with it at once share it. It is found by tokens that reach the same tenants, and told for 90 days.',
    scope: 'enrichment:write',
    body: importStartSchema,
    responses: job,
  },
  getImport: {
    route: 'GET /enrichment/imports/jobs/:id',
    summary: 'Show an import',
    scope: 'enrichment:read',
    responses: job,
  },
  reportImport: {
    route: 'PATCH /enrichment/imports/jobs/:id',
    summary: 'Tell how far an import is',
    description:
      'What is told replaces what was told before, unless that was further. An import that has ended is answered as it is. One of which nothing is told for a minute is shown as paused.',
    scope: 'enrichment:write',
    body: importReportSchema,
    responses: { ...job, 400: problem },
  },
});
