import { numberOf } from '../../kernel/values.ts';
import { endpointFilters } from '../../webhooks/view.ts';
import { call } from '../act.ts';
import { columnsOf } from '../columns.ts';
import { confirm, readFirstLine } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatInstant } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { withRetries } from '../retry.ts';
import { fitText, printable } from '../table.ts';
import { type Verbs, verb } from '../verb.ts';
import { endpointBody, endpointOptions } from '../webhooks/endpoint-options.ts';
import {
  backlogOf,
  type Endpoint,
  endpointFacts,
  nextOfStory,
  stateOf,
  storyLines,
} from '../webhooks/endpoints.ts';
import { replay } from '../webhooks/replay.ts';
import { testFilter } from '../webhooks/test-filter.ts';

const argument = ['<id>', 'the endpoint’s id, as svcctl endpoints ls prints it'] as const;

const { word, text, count, target } = columnsOf<Endpoint>();

const ls = list('GET /webhook/endpoints', {
  summary: 'list the endpoints',
  description: 'Lists the endpoints by tenant; never their secrets.',
  examples: [
    'svcctl endpoints ls --tenant TX',
    'svcctl endpoints ls --json id,url,enabled,breaker',
  ],
  filters: endpointFilters,
  columns: [
    word('ID', 'id'),
    text('TENANT', 'tenant'),
    target('URL', 'url'),
    text('EVENTS', (row) => row.event_types.join(','), { givesWay: 1 }),
    { title: 'STATE', value: (row, now) => stateOf(row, now) },
    count('BACKLOG', (row) => row.backlog.count, { shown: backlogOf }),
    text('NAME', 'name', { givesWay: 0 }),
  ],
  below: {
    none: 'No endpoints. Register one: svcctl endpoints create --tenant TENANT --url https://…',
    one: 'endpoint',
  },
});

const show = call('GET /webhook/endpoints/:id', {
  summary: 'show one endpoint, and why it fails',
  description:
    'Shows one endpoint: its last error in words, whether it is sent to now, how it answered in 24 hours, 7 and 30 days, its newest attempts, what waits, and how it is set; never its secret.',
  argument,
  examples: [
    'svcctl endpoints show ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints show ep_4fTq9Zx7Kq2LmN0p --json breaker,story',
  ],
  query: () => ({ include: 'story' }),
  facts: endpointFacts,
  more: (endpoint, _text, context, times) => storyLines(context, endpoint, times),
  next: nextOfStory,
});

const create = call('POST /webhook/endpoints', {
  summary: 'register an endpoint',
  description:
    'Registers an endpoint and prints the secret that its deliveries are signed with, this once, alone on stdout.',
  examples: [
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in > secret.txt',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --event incident.created incident.resolved',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --max-attempts 3 --retry-schedule 5,60',
    `svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --event 'incident.*' --where 'score >= 0.9'`,
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --ordered group --when-stuck pass',
    'svcctl endpoints create --tenant TX --pull > secret.txt',
  ],
  options: [
    ['--tenant <tenant>', 'whose incidents it gets (required)'],
    ['--url <url>', 'where they are sent, https; needed without --pull'],
    ['--pull', 'send nothing: the receiver polls, as svcctl endpoints poll does'],
    ...endpointOptions,
    [
      '--secret <secret>',
      'whsec_…, to keep one that the receiver knows; - reads it from stdin (default: a new one)',
    ],
    ['--disabled', 'do not send to it yet'],
  ],
  check({ pull, url }) {
    if (pull && url !== undefined) throw usage('--pull and --url exclude each other.');
    if (!pull && url === undefined) throw usage('--url is missing.');
  },
  async body({ tenant, pull, secret, disabled, ...options }, context) {
    const { headers, ...body } = await endpointBody(context, options);
    const given = Object.entries(headers ?? {}).map(([name, value]) => [name, value ?? '']);
    // A null means the default, which a new endpoint has anyway.
    const set = Object.entries(body).filter(([, value]) => value !== null);
    return {
      tenant,
      url: options.url,
      ...Object.fromEntries(set),
      type: pull && ('pull' as const),
      headers: headers && Object.fromEntries(given),
      enabled: disabled ? false : undefined,
      secret: secret === '-' ? await readFirstLine(context) : secret,
    };
  },
  prints: ({ secret }) => secret,
  done: (_, { id, tenant, type, url }) =>
    `Registered ${id} of ${tenant}: ${type === 'pull' ? 'its receiver polls' : url}. The secret is shown only this once.`,
  next: ({ id, type }) =>
    type === 'pull' ? `poll: svcctl endpoints poll ${id}` : `try it: svcctl endpoints ping ${id}`,
});

const change = call('PATCH /webhook/endpoints/:id', {
  summary: 'change an endpoint',
  description:
    'Changes an endpoint, and prints it as it is then. A new URL also holds for what failed before; other types, stores or a filter leave alone what waits already.',
  argument,
  examples: [
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --url https://hooks.acme.example/v2',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --rate-limit 20 --max-attempts default',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --disable-after 7',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --timeout 5 --final-status 400,422 --expires-after 3600',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --header @headers.txt "X-Old-Key:"',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --event "*" --description ""',
    `svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --store DFW IAH --where 'data.kind in ("a", "b")'`,
  ],
  options: [
    ['--url <url>', 'where it is sent to, https'],
    ...endpointOptions,
    ['--json', 'print it as JSON'],
  ],
  changes: 'Say what to change: --url, --event, …',
  body: (options, context) => endpointBody(context, options),
  facts: endpointFacts,
});

const remove = call('DELETE /webhook/endpoints/:id', {
  summary: 'delete an endpoint and discard what it was not sent',
  description: 'Deletes an endpoint for good. What was not delivered to it is discarded.',
  argument,
  examples: [
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p --yes',
  ],
  asks: {
    question: ([id]) =>
      `Delete ${id}? What was not delivered to it, also what was abandoned, is discarded.`,
    act: 'Delete',
    refused: 'Nothing was deleted.',
  },
  done: (id) => `Deleted ${id}.`,
});

const disable = call('PATCH /webhook/endpoints/:id', {
  summary: 'send nothing to an endpoint for now',
  description:
    'Sends nothing to an endpoint for now. What waits for it, and what is reported meanwhile, uses up no attempts; it is abandoned after SVC_DELIVERY_DAYS days.',
  argument,
  examples: ['svcctl endpoints disable ep_4fTq9Zx7Kq2LmN0p'],
  body: () => ({ enabled: false }),
  done: (id, { url }) =>
    `Disabled ${id} (${url}). What comes for it waits: svcctl endpoints enable ${id}`,
});

const enable = verb({
  summary: 'send to an endpoint again',
  description:
    'Sends to an endpoint again, also what waited meanwhile, as fast as its rate and its receiver allow. Ends a pause after failures.',
  argument,
  examples: [
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p --discard-backlog',
  ],
  options: [
    ['--discard-backlog', 'discard what waits now instead of sending it'],
    ['--yes', 'do not ask whether to discard'],
  ],
  act: (context, { discardBacklog, yes }, id) =>
    discardBacklog ? discard(context, id, yes) : enableAll(context, id),
});

async function enableAll(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url, backlog } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: true },
  });
  const waiting = `${backlog.is_exact ? '' : 'at least '}${numberOf(backlog.count, 'delivery', 'deliveries')}`;
  const rest =
    backlog.count === 0
      ? 'Nothing waited for it.'
      : `What waited for it (${waiting}) is sent when the drainer runs.`;
  context.note(`Enabled ${id} (${url}). ${rest}`);
}

/**
 * Asks, then has the backlog discarded and the endpoint enabled. A large backlog is discarded by a job of the service.
 */
async function discard(context: Context, id: string, yes?: true): Promise<void> {
  const client = await context.connect();
  const { backlog } = await client.json('GET /webhook/endpoints/:id', { params: { id } });
  await confirm(context, yes, {
    question: `Discard what waits for ${id} (${backlogOf({ backlog, held_back: null })}), and enable it?`,
    act: 'Discard',
    refused: 'Nothing was discarded; the endpoint is as it was.',
  });
  const { url, enabled } = await client.json('POST /webhook/endpoints/:id/discard-backlog', {
    params: { id },
  });
  context.note(
    enabled
      ? `Discarded what waited for ${id} (${url}), and enabled it.`
      : `What waits for ${id} (${url}) is being discarded; then it is enabled: svcctl endpoints show ${id}`,
  );
}

const ping = call('POST /webhook/endpoints/:id/ping', {
  summary: 'send an event of type webhook.ping to an endpoint',
  description:
    'Sends an event of type webhook.ping to an endpoint at once, past its queue, breaker and rate, and says what it answered. Prints the id of the delivery.',
  argument,
  examples: [
    'svcctl endpoints ping ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints ping ep_4fTq9Zx7Kq2LmN0p --type incident.created',
  ],
  options: [
    ['--type <type>', 'send the sample of this type instead, as the catalogue has it'],
    ['--json', 'print the whole answer as JSON'],
  ],
  query: ({ type }) => ({ type }),
  prints: ({ id }) => id,
  done(_, { outcome }) {
    if (outcome === null) return 'It is handed out with the next poll.';
    const { status, failure_class, error, duration_ms, response } = outcome;
    const what = failure_class === null ? `${status} delivered` : `${error} (${failure_class})`;
    const start = printable(response ?? '').trim();
    const answer = start === '' ? '' : `\n${fitText(`It answered: ${start}`, 200)}`;
    return `${printable(what)}, in ${duration_ms} ms.${answer}`;
  },
  next: ({ id, outcome }) =>
    (outcome?.failure_class ?? null) === null ? null : `it is tried again: svcctl dlq show ${id}`,
});

/** So long the service waits for a delivery before it answers that there is none. */
const waitSeconds = 20;

const poll = verb({
  summary: 'fetch what waits for an endpoint that is polled',
  description:
    'Prints what waits for an endpoint of the type pull, one delivery a line: its id, its signed headers, and its body as text. A delivery is acknowledged after its line is written, by the next call, and follows what is reported until Ctrl-C. What was printed and not acknowledged comes again, under the same webhook-id.',
  argument,
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
      await context.out.flush();
      count += answer.data.length;
      after = answer.next_cursor ?? undefined;
      if (once && answer.data.length === 0) break;
    }
    context.note(`${numberOf(count, 'delivery', 'deliveries')}, acknowledged.`);
  },
});

const skip = call('POST /webhook/endpoints/:id/skip', {
  summary: 'let the next delivery of a blocked key go',
  description:
    'Lets the next delivery of a key go where the first one has failed, at an ordered endpoint. What failed is abandoned, and stays in the dead-letter queue. svcctl endpoints show lists the blocked keys.',
  argument,
  examples: ['svcctl endpoints skip ep_4fTq9Zx7Kq2LmN0p --key case-812'],
  options: [['--key <key>', 'the store or the group (required)']],
  done: (_, { key, skipped, next }) =>
    `Skipped ${skipped} of ${printable(key)}. ${next === null ? 'Nothing waits behind it.' : `${next} goes now.`} Send it after all: svcctl dlq retry ${skipped}`,
});

const rotateSecret = call('POST /webhook/endpoints/:id/rotate-secret', {
  summary: 'give an endpoint a new secret',
  description:
    'Gives an endpoint a new secret and prints it, this once, alone on stdout. For 24 hours deliveries are signed with the old one as well, and with those rotated out before it on the same day.',
  argument,
  examples: [
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p > secret.txt',
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p --yes --json',
  ],
  options: [['--json', 'print the whole answer as JSON']],
  asks: {
    question: ([id]) => `Give ${id} a new secret? Its receiver must learn it within 24 hours.`,
    act: 'Rotate',
    refused: 'The secret is as it was.',
  },
  prints: ({ secret }) => secret,
  done(id, { previous_secret_until: until }) {
    const old = until ? ` The old one also signs until ${formatInstant(until)} UTC.` : '';
    return `${id} has a new secret, shown only this once.${old}`;
  },
});

const endOldSecrets = call('POST /webhook/endpoints/:id/end-old-secrets', {
  summary: 'let only the present secret of an endpoint sign',
  description:
    'Ends at once what a rotation leaves for 24 hours: from now on no secret that was rotated out signs.',
  argument,
  examples: ['svcctl endpoints end-old-secrets ep_4fTq9Zx7Kq2LmN0p'],
  asks: {
    question: ([id]) =>
      `End the old secrets of ${id}? A receiver that does not know the present one refuses what comes.`,
    act: 'End them',
    refused: 'The old secrets sign as before.',
  },
  done: (id) => `Only the present secret of ${id} signs now.`,
});

export const endpoints: Verbs = {
  ls,
  show,
  create,
  change,
  enable,
  disable,
  delete: remove,
  'rotate-secret': rotateSecret,
  'end-old-secrets': endOldSecrets,
  ping,
  poll,
  skip,
  replay,
  'test-filter': testFilter,
};
