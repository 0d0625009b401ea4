import { type Static, Type } from 'typebox';
import { instantSchema, nullable, oneOf } from '../platform/http/schemas.contract.ts';
import { bulkJobSchema } from './deliveries.contract.ts';
import { deliveryHoursSchema, endpointSchema } from './schemas.contract.ts';
import { bulkActions } from './values.ts';

const { id, state, created_at, rows_done, outcome } = bulkJobSchema.properties;

export const webhooksOverviewSchema = Type.Object({
  abandoned: Type.Integer({ description: 'deliveries without attempts left' }),
  pending: Type.Integer({ description: 'deliveries that failed and are tried again' }),
  oldest_failure_at: nullable({
    ...instantSchema,
    description: 'the last attempt of that dead letter which was left alone longest',
  }),
  hours: deliveryHoursSchema,
  failing: Type.Integer({ description: 'endpoints that are paused after failures in a row' }),
  degraded: Type.Integer({ description: 'other endpoints whose health is degraded' }),
  gone: Type.Integer({ description: 'endpoints that are disabled because they answered 410' }),
  disabled: Type.Integer({
    description: 'endpoints that the service disabled after days of failures',
  }),
  held: Type.Integer({
    description: 'endpoints that an operator has disabled, and for which deliveries wait',
  }),
  full: Type.Integer({
    description: 'endpoints from which incidents are held back, or were and are not replayed',
  }),
  certificate: Type.Integer({
    description: 'endpoints of which a certificate ends within 30 days, or has ended',
  }),
  endpoints: Type.Array(endpointSchema, {
    description: 'up to ten of these, the worst first, each with its last 24 hours',
  }),
  last_job: nullable(
    Type.Object({
      id,
      action: oneOf([...bulkActions, 'replay']),
      state,
      created_at,
      rows_done,
      outcome,
    }),
    'the last bulk re-arm or purge, or replay of a range',
  ),
});
export type WebhooksOverview = Static<typeof webhooksOverviewSchema>;
