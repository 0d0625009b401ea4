import { Type } from 'typebox';
import { exactly, fits, nullable, oneOf } from '../platform/http/schemas.contract.ts';

const headSchema = Type.String({
  pattern: '^[0-9]{1,15}:[0-9a-f]{64}$',
  [fits]: 'a place and a hash of 64 hex digits, as PLACE:HASH',
  description: 'PLACE:HASH of the newest entry, as a verification told it.',
});

export const auditCheckSchema = exactly(
  { head: Type.Optional(headSchema) },
  { description: 'With `head` the entry that was newest then must still be there as it was.' },
);

const auditProblemKinds = [
  'changed',
  'removed',
  'inserted',
  'head_differs',
  'seal_differs',
] as const;

export const auditVerdictSchema = Type.Object({
  ok: Type.Boolean(),
  entries: Type.Integer({ minimum: 0, description: 'How many were compared.' }),
  head: headSchema,
  pruned_place: Type.Integer({
    minimum: 0,
    description: 'The place of the newest entry that was pruned because of its age; 0 = none.',
  }),
  seal: nullable(
    Type.Object({
      key_id: Type.String({ description: 'Of a key as `svcctl keys ls` lists them.' }),
      since: Type.Integer({
        minimum: 0,
        description:
          'Where the log ended when it was sealed first: entries after it are as they were written, those up to it as they were then.',
      }),
      place: Type.Integer({ minimum: 0, description: 'The newest place that is sealed.' }),
    }),
    'Up to where the log is sealed with a key that the database does not hold; null = it was never sealed.',
  ),
  problem_count: Type.Integer({ minimum: 0 }),
  problems: Type.Array(
    Type.Object({
      kind: oneOf(auditProblemKinds),
      place: nullable(Type.Integer()),
      entry_id: nullable(Type.String()),
      message: Type.String(),
    }),
    { maxItems: 100, description: 'The first 100.' },
  ),
});
