import { type Static, Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import { instantSchema, nullable, oneOf, workSchema } from '../platform/http/schemas.contract.ts';
import { recordsOverviewSchema } from '../records/stored.contract.ts';
import { retentionOverviewSchema } from '../retention/schemas.contract.ts';
import { webhooksOverviewSchema } from '../webhooks/schemas.contract.ts';
import { troubleKinds } from './values.ts';

const troubleSchema = Type.Object({
  kind: oneOf(troubleKinds),
  count: Type.Integer({
    description:
      'of the endpoints, deliveries, differences, moves, disks, targets, waiting jobs or objects',
  }),
  id: nullable(Type.String({ description: 'of the run or the verification' })),
});
export type Trouble = Static<typeof troubleSchema>;

export const overviewSchema = Type.Object({
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

export const overviewContract = {
  getOverview: {
    id: 'getOverview',
    method: 'GET',
    path: '/stats/overview',
    tag: 'Overview',
    summary: 'Whether all is well',
    description:
      'What is wrong, what there is, and how it went lately, of the tenants of the token. Records and retention are null without enrichment:read, webhooks without admin. From counters kept in the transactions that store records and outcomes: of all tenants it reads a row for each of them and for each hour and day, however many records, stores and leaves there are.',
    scope: 'any',
    responses: { 200: { description: 'As it is now.', schema: overviewSchema } },
  },
} as const satisfies Record<string, RouteContract>;
