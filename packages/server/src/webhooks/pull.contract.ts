import { Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import { exactly, nullable, optional, problem } from '../platform/http/schemas.contract.ts';

export const polledSchema = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String({ description: 'of the delivery' }),
      headers: Type.Record(Type.String(), Type.String(), {
        description:
          'those of a delivery that is sent: webhook-id, webhook-timestamp, the signatures',
      }),
      body: Type.String({ description: 'what is signed, to the letter' }),
    }),
  ),
  next_cursor: nullable(
    Type.String({ description: 'for `after`; null: nothing was ever handed out' }),
  ),
});

export const pullContract = routesUnder('Webhooks', {
  pollDeliveries: {
    scope: 'deliveries:poll',
    route: 'GET /webhook/endpoints/:id/deliveries/poll',
    summary: 'Fetch what waits for an endpoint that is polled',
    description:
      'The next deliveries of an endpoint of the type `pull`, signed as those that are sent, 4 MiB of payloads at most. `after` acknowledges all that came before its cursor: it is delivered, and not handed out again. What is not acknowledged comes again, to whoever asks with the cursor before it or with none, so an answer that is lost loses nothing, and a receiver gets a delivery at least once, under the same webhook-id. With `wait` an answer without deliveries waits for some. Several may poll: each gets all that none has acknowledged.',
    query: exactly({
      after: optional.string({
        minLength: 1,
        maxLength: 500,
        description: 'next_cursor of the answer that was worked off; none: from the oldest on',
      }),
      limit: optional.integer({ minimum: 1, maximum: 500, default: 100 }),
      wait: optional.integer({
        minimum: 0,
        maximum: 30,
        default: 0,
        description: 'seconds to wait for a delivery',
      }),
    }),
    responses: {
      200: { description: 'What waits, the oldest first.', schema: polledSchema },
      409: problem,
    },
  },
});
