import { type Static, Type } from 'typebox';
import { storeStates } from '../kernel/values.ts';
import { routesUnder } from '../platform/http/contract.ts';
import { instantSchema, nullable, oneOf, workSchema } from '../platform/http/schemas.contract.ts';
import { recordsOverviewSchema } from '../records/stored.contract.ts';
import { retentionOverviewSchema } from '../retention/schemas.contract.ts';
import { webhooksOverviewSchema } from '../webhooks/overview.contract.ts';
import {
  checkNames,
  checkSeverities,
  findingSeverities,
  processCommands,
  processStates,
  troubleKinds,
} from './values.ts';

const troubleSchema = Type.Object({
  kind: oneOf(troubleKinds),
  count: Type.Integer({
    description:
      'of the endpoints, deliveries, differences, moves, disks, targets, waiting jobs or objects',
  }),
  id: nullable(
    Type.String({ description: 'of the run, verification, endpoint, target or machine, if one' }),
  ),
  severity: oneOf(checkSeverities),
  text: Type.String({ description: 'what is wrong' }),
  remedy: Type.String({ description: 'what to do about it' }),
  command: nullable(Type.String({ description: 'what to type then' })),
  place: Type.String({ description: 'where the console shows it' }),
});
export type Trouble = Static<typeof troubleSchema>;

const overviewSchema = Type.Object({
  at: instantSchema,
  troubles: Type.Array(troubleSchema, {
    description: 'what is wrong, the worst first; empty: all is well, as far as the token may see',
  }),
  records: nullable(recordsOverviewSchema),
  retention: nullable(retentionOverviewSchema),
  webhooks: nullable(webhooksOverviewSchema),
  work: Type.Array(workSchema, { description: 'up to five of each kind' }),
});
export type Overview = Static<typeof overviewSchema>;

const processSchema = Type.Object({
  id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  version: Type.String({ description: 'of svcctl' }),
  node: Type.String({ description: 'version of Node.js' }),
  command: oneOf(processCommands, 'drain: svcctl drain, which ends when nothing is due'),
  roles: Type.Array(Type.String()),
  url: nullable(Type.String({ description: 'where it listens; null: it does not' })),
  state: oneOf(
    processStates,
    'live, silent (missed beats), or gone (killed or frozen; it did not stop by itself)',
  ),
  since: instantSchema,
  seen_at: instantSchema,
  silent_seconds: Type.Number({ description: 'since it was last seen, by the database’s clock' }),
  clock_ahead_ms: nullable(
    Type.Integer({ description: 'how far its clock is ahead of the database’s' }),
  ),
  disk_free_bytes: nullable(Type.Integer({ description: 'of the disk with its data folder' })),
  disk_total_bytes: nullable(Type.Integer()),
  store_state: nullable(oneOf(storeStates, 'how it sees the store of cold data')),
  secret_keys: Type.Array(Type.String(), {
    description: 'ids of the keys of webhook secrets that it knows; the first one encrypts',
  }),
  settings: Type.Record(Type.String(), Type.String(), {
    description: 'those that processes on one database should share, as its roles need them',
  }),
});
export type ProcessRow = Static<typeof processSchema>;

const findingSchema = Type.Object({
  check: oneOf(checkNames),
  name: Type.String({
    description: 'of what is checked in this row, as OVERVIEW and notices have it',
  }),
  severity: oneOf(findingSeverities),
  found: Type.String(),
  remedy: nullable(Type.String({ description: 'what to do about it' })),
  id: nullable(Type.String({ description: 'of what it is about, such as a run or a process' })),
  command: nullable(Type.String({ description: 'what to type' })),
});
export type Finding = Static<typeof findingSchema>;

const statusSchema = Type.Object({
  at: instantSchema,
  process_id: Type.String({ description: 'of the process that answers' }),
  version: Type.String({ description: 'of its release' }),
  database: Type.Object({
    version: Type.String({ examples: ['18.4'] }),
    size_bytes: Type.Integer(),
    migration: Type.String({ description: 'the last one applied' }),
    known_migration: Type.String({ description: 'the last one that this release knows' }),
  }),
  store: Type.Object({ location: Type.String(), state: oneOf(storeStates) }),
  processes: Type.Array(processSchema, { description: 'the oldest first; gone ones for a day' }),
  slow_statements: Type.Array(
    Type.Object({
      text: Type.String({ description: 'without values' }),
      count: Type.Integer(),
      total_ms: Type.Integer(),
      max_ms: Type.Integer(),
    }),
    { description: 'of the process that answers, since its start; most time in all first' },
  ),
  findings: Type.Array(findingSchema, {
    description: 'what the checks find that read next to nothing; empty: all of that is well',
  }),
});
export type Status = Static<typeof statusSchema>;

const examinationSchema = Type.Object({
  at: instantSchema,
  findings: Type.Array(findingSchema, { description: 'one of each check at least' }),
});

export const checksContract = routesUnder('Health', {
  getOverview: {
    route: 'GET /stats/overview',
    tag: 'Overview',
    summary: 'Whether all is well',
    description:
      'What is wrong, what there is, and how it went lately, of the tenants of the token. Records and retention are null without enrichment:read, webhooks without admin. From counters kept in the transactions that store records and outcomes: of all tenants it reads a row for each of them and for each hour and day, however many records, stores and leaves there are.',
    scope: 'any',
    responses: { 200: { description: 'As it is now.', schema: overviewSchema } },
  },
  getStatus: {
    route: 'GET /status',
    summary: 'The processes and what they stand on',
    description:
      'Every process on this database says each ten seconds that it lives. Not for tokens limited to tenants, because it tells hosts and places.',
    scope: 'admin',
    responses: { 200: { description: 'As it is now.', schema: statusSchema } },
  },
  getExamination: {
    route: 'GET /doctor',
    summary: 'Whether all is well with the service',
    description:
      'Checks the processes, the database, the store and the work, one after the other: all that svcctl doctor tells. It takes a second or a few, and changes nothing. Not for tokens limited to tenants.',
    scope: 'admin',
    responses: { 200: { description: 'What was found.', schema: examinationSchema } },
  },
});
