import { type Static, Type } from 'typebox';
import { instantSchema, nullable, oneOf } from '../platform/http/schemas.contract.ts';
import { attemptSchema, bulkJobSchema } from './deliveries.contract.ts';
import { blockedKeySchema } from './order.contract.ts';
import { replaySchema } from './replays.contract.ts';
import { lastErrorProperties } from './schemas.contract.ts';
import { answerBounds, deadLetterStatuses, failureClasses } from './values.ts';

const { number, started_at, duration_ms, status, failure_class, error } = attemptSchema.properties;

const told = replaySchema.properties;
const toldReplaySchema = Type.Object({
  id: told.id,
  state: told.state,
  only: told.only,
  waits_for_endpoint: told.waits_for_endpoint,
  rows_total: told.rows_total,
  rows_done: told.rows_done,
  rows_skipped: told.rows_skipped,
  created_at: told.created_at,
});

const percentileSchema = (share: string) =>
  nullable(
    Type.Integer({
      description: `${share} of the answers took no longer, in ms: ${answerBounds.slice(0, 4).join(', ')}, … ${answerBounds.at(-1)}; null without answers`,
    }),
  );

/** How an endpoint fared, for whoever asks why it fails. */
export const endpointStorySchema = Type.Object(
  {
    last_error: nullable(
      Type.Object(
        {
          ...lastErrorProperties,
          answer: nullable(
            Type.String({ description: 'its first 400 characters; null also when it was erased' }),
          ),
        },
        { description: 'null: none of its newest attempts failed, and it has no dead letter' },
      ),
    ),
    attempts: Type.Array(
      Type.Object({
        delivery_id: Type.String(),
        number,
        started_at,
        duration_ms,
        status,
        failure_class,
        error,
      }),
      { description: 'the newest first, 12 at most; those of forgotten deliveries are left out' },
    ),
    periods: Type.Array(
      Type.Object({
        hours: Type.Integer({ description: 'how many, the present one included' }),
        attempts: Type.Integer(),
        delivered: Type.Integer(),
        success_share: nullable(
          Type.Number({ description: 'delivered / attempts; null without attempts' }),
        ),
        answered: Type.Integer({
          description: 'attempts to which an answer came, whatever it was',
        }),
        p50_ms: percentileSchema('half'),
        p95_ms: percentileSchema('95 %'),
        p99_ms: percentileSchema('99 %'),
      }),
      { description: 'of 24, 168 and 720 hours' },
    ),
    oldest_waiting: nullable(
      Type.Object(
        {
          since: instantSchema,
          is_exact: Type.Boolean({ description: 'false: since then or longer' }),
        },
        { description: 'the oldest delivery that is queued or pending; null when nothing waits' },
      ),
    ),
    polled: nullable(
      Type.Object({
        polled_at: nullable(instantSchema, 'of the last poll; null: none yet'),
        polled_by: nullable(
          Type.String({
            description:
              'the name of its token, or, to who reaches only the webhooks of a tenant, “an operator”; null where it is not known',
          }),
        ),
        handed_out: Type.Integer({
          description:
            'deliveries that were handed out and are not acknowledged yet; 10,000 at most',
        }),
        handed_out_since: nullable(instantSchema, 'since when the first of them is'),
      }),
      'who has fetched what waits; null: it is sent to',
    ),
    dead_letters: Type.Array(
      Type.Object({
        status: oneOf(deadLetterStatuses),
        failure_class: oneOf(failureClasses),
        count: Type.Integer(),
      }),
      { description: 'the largest group first' },
    ),
    blocked: Type.Array(blockedKeySchema, {
      description:
        'keys of an ordered endpoint whose first delivery has failed, so that others wait, 20 at most',
    }),
    jobs: Type.Array(bulkJobSchema, {
      description: 'bulk retries and purges for this endpoint, the newest first, five at most',
    }),
    replays: Type.Array(toldReplaySchema, {
      description:
        'those that have not ended, or began within a day, the newest first, five at most',
    }),
  },
  { description: 'with include=story' },
);
export type EndpointStory = Static<typeof endpointStorySchema>;
