import { numberOf } from '../../kernel/values.ts';
import { wholeNumber } from '../help.ts';
import { withRetries } from '../retry.ts';
import { verb } from '../verb.ts';

/** So long the service waits for a delivery before it answers that there is none. */
const waitSeconds = 20;

export const poll = verb({
  summary: 'fetch what waits for an endpoint that is polled',
  description:
    'Prints what waits for an endpoint of the type pull, one delivery a line: its id, its signed headers, and its body as text. A delivery is acknowledged after its line is written, by the next call, and follows what is reported until Ctrl-C. What was printed and not acknowledged comes again, under the same webhook-id.',
  argument: ['<id>', 'the endpoint’s id, as svcctl endpoints ls prints it'],
  examples: [
    'svcctl endpoints poll ep_4fTq9Zx7Kq2LmN0p >> incidents.ndjson',
    'svcctl endpoints poll ep_4fTq9Zx7Kq2LmN0p --once | jq -r .body',
  ],
  options: [
    ['--once', 'end when nothing waits any more, and all is acknowledged'],
    ['--limit <number>', 'deliveries of one call, 1 to 500 (default: 100)', wholeNumber(1)],
  ],
  async act(context, { once, limit }, id) {
    const client = await context.connect();
    let after: string | undefined;
    let count = 0;
    for (;;) {
      const query = { after, limit, wait: once ? 0 : waitSeconds };
      const call = { params: { id }, query };
      const answer = await withRetries(context.io, () =>
        client.json('GET /webhook/endpoints/:id/deliveries/poll', call),
      );
      for (const delivery of answer.data) await context.out.write(`${JSON.stringify(delivery)}\n`);
      count += answer.data.length;
      after = answer.next_cursor ?? undefined;
      if (once && answer.data.length === 0) break;
    }
    context.note(`${numberOf(count, 'delivery', 'deliveries')}, acknowledged.`);
  },
});
