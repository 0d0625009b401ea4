import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  instantSchema,
  nullable,
  oneOf,
  pageOf,
  paging,
  problem,
} from '../platform/http/schemas.contract.ts';
import { deliverySchema } from './deliveries.contract.ts';
import { deadLetterStatuses } from './values.ts';

const { attempts, max_attempts, next_retry, failure_class, error } = deliverySchema.properties;

/** A key of an ordered endpoint whose first delivery has failed, so that the others wait. */
export const blockedKeySchema = Type.Object({
  key: Type.String({ description: 'the store or the group' }),
  delivery_id: Type.String({ description: 'the delivery that has failed and goes first' }),
  status: oneOf(
    deadLetterStatuses,
    'pending: it is tried again by its schedule; abandoned: only a retry sends it again',
  ),
  since: { ...instantSchema, description: 'its first attempt' },
  attempts,
  max_attempts,
  next_retry,
  failure_class,
  error,
  waiting: Type.Object(
    {
      count: Type.Integer(),
      is_exact: Type.Boolean({ description: 'false: it is the count or more' }),
    },
    { description: 'deliveries that wait behind it' },
  ),
});
export type BlockedKey = Static<typeof blockedKeySchema>;

const skippedSchema = Type.Object({
  key: Type.String(),
  skipped: Type.String({ description: 'the delivery that is abandoned now' }),
  next: nullable(Type.String({ description: 'the delivery that goes now; null: none waits yet' })),
});

export const orderContract = routesUnder('Webhooks', {
  listBlockedKeys: {
    scope: 'webhooks:read',
    route: 'GET /webhook/endpoints/:id/blocked',
    summary: 'List the keys of an ordered endpoint whose first delivery has failed',
    query: exactly(paging),
    responses: { 200: { description: 'One page, by key.', schema: pageOf(blockedKeySchema) } },
  },
  skipHead: {
    scope: 'deliveries:retry',
    route: 'POST /webhook/endpoints/:id/skip',
    summary: 'Let the next delivery of a blocked key go',
    description:
      'What failed is abandoned, and stays in the dead-letter queue: retried later, it goes before all that was accepted after it and was not sent yet. 409 key_not_blocked unless the first delivery of the key has failed and no attempt is under way.',
    body: exactly({ key: Type.String({ minLength: 1, maxLength: 200 }) }),
    responses: { 200: { description: 'Skipped.', schema: skippedSchema }, 409: problem },
  },
});
