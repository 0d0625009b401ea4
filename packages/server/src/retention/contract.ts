import { Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  dateSchema,
  exactly,
  monthSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { importContract } from './import.contract.ts';
import { objectsContract } from './objects.contract.ts';
import {
  coldStoreSchema,
  coldStoreSummarySchema,
  erasePlanSchema,
  eraseReceiptSchema,
  eraseRequestSchema,
  hotSpaceSchema,
  ifUpdatedAtSchema,
  moveSchema,
  planRowSchema,
  planTotalsSchema,
  policyChangeSchema,
  policySchema,
  policyTenantSchema,
  runSchema,
  segmentSchema,
  tenantStateSchema,
  verificationSchema,
} from './schemas.contract.ts';
import { moveKinds, moveStates, segmentStates, tenantOrders } from './values.ts';

export * from './import.contract.ts';
export * from './objects.contract.ts';
export * from './schemas.contract.ts';

const tenantParams = Type.Object({ tenant: policyTenantSchema });

/** What limits a plan or a run: a tenant and the days before a date. */
const scopeOfRun = {
  tenant: Type.Optional(tenantSchema),
  before: Type.Optional({
    ...dateSchema,
    description: 'a date such as 2026-03-05; only days before it',
  }),
};

/** The routes of the retention feature. The server checks requests by them, and docs/http-api.md is made from them. */
export const retentionContract = routesUnder('Retention', {
  listPolicies: {
    route: 'GET /retention/policies',
    summary: 'List the retention policies',
    description: 'The default (`*`) first, then the tenants that have one of their own.',
    scope: 'enrichment:read',
    query: exactly(paging),
    responses: onePage(policySchema),
  },
  getPolicy: {
    route: 'GET /retention/policies/:tenant',
    summary: 'Show the policy in force for a tenant',
    scope: 'enrichment:read',
    params: tenantParams,
    responses: { 200: { description: 'The policy.', schema: policySchema } },
  },
  putPolicy: {
    route: 'PUT /retention/policies/:tenant',
    summary: 'Set the policy of a tenant, or the default (`*`)',
    description:
      'What is left out is its default: never delete, no hold. A policy acts at the next run; GET /retention/plan tells beforehand what it will do.',
    scope: 'retention:manage',
    stepUp: true,
    fourEyes: ['delete_days', 'lift_hold'],
    params: tenantParams,
    body: policyChangeSchema,
    responses: { 200: { description: 'As it is now.', schema: policySchema }, 409: problem },
  },
  deletePolicy: {
    route: 'DELETE /retention/policies/:tenant',
    summary: 'Put a tenant back under the default',
    scope: 'retention:manage',
    stepUp: true,
    fourEyes: ['delete_days', 'lift_hold'],
    params: tenantParams,
    query: exactly({ if_updated_at: Type.Optional(ifUpdatedAtSchema) }),
    responses: { 204: { description: 'Done.' }, 409: problem },
  },
  listTenantStates: {
    route: 'GET /retention/tenants',
    summary: 'How much of each tenant lies hot and cold',
    description: 'From counters.',
    scope: 'enrichment:read',
    query: exactly({
      order: Type.Optional(
        oneOf(
          tenantOrders,
          'tenant (the default), or due: first those of which a run would move and delete most now, with `due`',
        ),
      ),
      q: Type.Optional({ ...tenantSchema, description: 'prefix of the tenant' }),
      ...paging,
    }),
    responses: onePage(tenantStateSchema),
  },
  getPlan: {
    route: 'GET /retention/plan',
    summary: 'Tell what a run would do now',
    description:
      'Exactly what would move or go, from the counters of days. `totals` are of all rows, not of this page. Days of dataset versions are not deleted: each row tells what they keep.',
    scope: 'enrichment:read',
    query: exactly({ ...scopeOfRun, ...paging }),
    responses: {
      200: {
        description: 'By tenant.',
        schema: Type.Object({
          data: Type.Array(planRowSchema),
          totals: planTotalsSchema,
          hot_space: nullable({
            ...hotSpaceSchema,
            description: 'of all tenants; null for a token limited to some, and on later pages',
          }),
          store: coldStoreSummarySchema,
          next_cursor: nullable(Type.String()),
        }),
      },
    },
  },
  startRun: {
    route: 'POST /retention/run',
    summary: 'Do what the policies say, now',
    description:
      'Queued for the processes with the role retention, which look every two seconds and divide its tenants; one run at a time, one mover a tenant.',
    scope: 'retention:manage',
    stepUp: true,
    body: exactly({
      ...scopeOfRun,
      delete_versioned: optional.boolean({
        description:
          'delete what is due on days of dataset versions too, which then have less than was frozen; without it these days are left alone',
      }),
    }),
    responses: { 202: { description: 'Queued.', schema: runSchema }, 409: problem },
  },
  listRuns: {
    route: 'GET /retention/runs',
    summary: 'List the runs, the latest first',
    scope: 'enrichment:read',
    query: exactly(paging),
    responses: onePage(runSchema),
  },
  getRun: {
    route: 'GET /retention/runs/:id',
    summary: 'Show a run',
    scope: 'enrichment:read',
    responses: { 200: { description: 'The run.', schema: runSchema } },
  },
  getStore: {
    route: 'GET /retention/store',
    summary: 'Tell whether the store of cold data is this database’s',
    description:
      'Looks now: lists the store, and reads its marker. Of two copies of a database (a clone, a restored backup) on one store, the one that writes first goes on; the other one only reads.',
    scope: 'enrichment:read',
    query: exactly({
      include: Type.Optional(
        oneOf(['missing'], 'count the objects of this database that the store lacks'),
      ),
    }),
    responses: { 200: { description: 'As it is now.', schema: coldStoreSchema } },
  },
  adoptStore: {
    route: 'POST /retention/adopt-store',
    summary: 'Take the store of cold data over for this database',
    description:
      'The other database only reads it from then on, and misses what is merged, deleted or erased here. Stop its service first. What was merged or deleted there is missing here: verify afterwards. Needs a token that is not limited to tenants.',
    scope: 'admin',
    stepUp: true,
    fourEyes: ['adopt_store'],
    responses: {
      200: { description: 'It is this database’s.', schema: coldStoreSchema },
      409: problem,
    },
  },
  ...objectsContract,
  ...importContract,
  listMoves: {
    route: 'GET /retention/moves',
    summary: 'Read the journal of moves, the latest first',
    scope: 'enrichment:read',
    query: exactly({
      tenant: Type.Optional(tenantSchema),
      kind: Type.Optional(oneOf(moveKinds)),
      state: Type.Optional(oneOf(moveStates)),
      month: Type.Optional(monthSchema),
      run_id: optional.string({ maxLength: 100 }),
      ...paging,
    }),
    responses: onePage(moveSchema),
  },
  getMove: {
    route: 'GET /retention/moves/:id',
    summary: 'Show a move',
    scope: 'enrichment:read',
    responses: { 200: { description: 'The move.', schema: moveSchema } },
  },
  listSegments: {
    route: 'GET /retention/segments',
    summary: 'List the objects that hold cold records',
    description:
      'By tenant and key. The `live` ones hold each cold record once; what they replaced stays for the time of grace and holds records a second time.',
    scope: 'enrichment:read',
    query: exactly({
      tenant: Type.Optional(tenantSchema),
      state: Type.Optional(oneOf(segmentStates)),
      ...paging,
    }),
    responses: onePage(segmentSchema),
  },
  startVerification: {
    route: 'POST /retention/verify',
    summary: 'Check all cold data against the counters',
    description:
      'Catalogue against objects, objects against catalogue, counters against both: each object is read whole and its records’ triple computed from content. Changes nothing. Queued for the processes with the role retention, which divide it.',
    scope: 'retention:manage',
    body: exactly({
      tenant: scopeOfRun.tenant,
      since: Type.Optional({
        ...dateSchema,
        description:
          'a date such as 2026-03-05: only segments, and counters of tenants, that were not found right since the start of that day (UTC)',
      }),
      sample_percent: optional.number({
        exclusiveMinimum: 0,
        maximum: 100,
        description:
          'only so many percent of the segments, and of the tenants’ counters, chosen anew each time; objects that nobody knows are not looked for',
      }),
    }),
    responses: { 202: { description: 'Queued.', schema: verificationSchema } },
  },
  listVerifications: {
    route: 'GET /retention/verify',
    summary: 'List the verifications, the latest first',
    scope: 'enrichment:read',
    query: exactly(paging),
    responses: onePage(verificationSchema),
  },
  getVerification: {
    route: 'GET /retention/verify/:id',
    summary: 'Show a verification: its progress, then its report',
    scope: 'enrichment:read',
    responses: { 200: { description: 'As it stands.', schema: verificationSchema } },
  },
  planErasure: {
    route: 'POST /enrichment/erase/plan',
    summary: 'Say what an erasure would take',
    description:
      'The same as `dry_run` of the erasure, but as it changes nothing, a console session need not confirm. It answers also for a tenant on hold.',
    scope: 'admin',
    body: erasePlanSchema,
    responses: { 200: { description: 'The receipt of a dry run.', schema: eraseReceiptSchema } },
  },
  eraseRecords: {
    route: 'POST /enrichment/erase',
    summary: 'Erase records for good',
    description:
      'Of a tenant, or of its store: the records with these event ids, or of these days. In both tiers, under the journal of moves. Refused while the tenant is on hold (409 tenant_on_hold). Answers the receipt when no read finds them any more, or, if that takes longer than 20 s, as it stands then: see the move.',
    scope: 'admin',
    stepUp: true,
    fourEyes: ['erase'],
    body: eraseRequestSchema,
    responses: { 200: { description: 'The receipt.', schema: eraseReceiptSchema }, 409: problem },
  },
  getErasure: {
    route: 'GET /enrichment/erasures/:id',
    summary: 'Show the receipt of an erasure again',
    description:
      'As it is now: `state`, `objects_removed_after` and `remains` change until the old objects are gone. It is kept for good, and names neither a subject nor event ids.',
    scope: 'audit:read',
    responses: { 200: { description: 'The receipt.', schema: eraseReceiptSchema } },
  },
});
