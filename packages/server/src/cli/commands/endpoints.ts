import type { Command } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatInstant, formatNumberOf } from '../format.ts';
import { required, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, type Output, picker } from '../output.ts';
import { printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { fitText, printable } from '../table.ts';
import { targetColumn } from '../webhooks/deliveries.ts';
import { nameValueLines, printDetails } from '../webhooks/details.ts';
import {
  addEndpointOptions,
  type EndpointOptions,
  endpointBody,
} from '../webhooks/endpoint-options.ts';
import {
  backlogOf,
  type Endpoint,
  endpointFields,
  endpointRows,
  stateOf,
} from '../webhooks/endpoints.ts';

type LsOptions = { tenant?: string; json?: JsonOption };

export function addEndpointsLs(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('ls')
    .summary('list the endpoints')
    .description('Lists the endpoints by tenant; never their secrets.')
    .option('--tenant <tenant>', 'only of this tenant')
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listEndpoints(context, options));
  withExamples(command, [
    'svcctl endpoints ls --tenant TX',
    'svcctl endpoints ls --json id,url,enabled,breaker',
  ]);
}

async function listEndpoints(context: Context, { json, tenant }: LsOptions): Promise<void> {
  const now = context.io.now();
  const output: Output<Endpoint> = {
    fields: endpointFields,
    json,
    columns: [
      { title: 'ID', value: (row) => row.id },
      { title: 'TENANT', isElastic: true, value: (row) => row.tenant },
      targetColumn('URL', (row) => row.url),
      { title: 'EVENTS', isElastic: true, givesWay: 1, value: (row) => row.event_types.join(',') },
      { title: 'STATE', value: (row) => stateOf(row, now) },
      {
        title: 'BACKLOG',
        align: 'right',
        value: (row) => row.backlog.count,
        shown: (row) => backlogOf(row),
      },
    ],
  };
  await printList(context, output, {
    route: 'GET /webhook/endpoints',
    query: { tenant },
    tell: ({ printed }) =>
      printed === 0
        ? 'No endpoints. Register one: svcctl endpoints create --tenant TENANT --url https://…'
        : formatNumberOf(printed, 'endpoint'),
  });
}

export function addEndpointsShow(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('show')
    .summary('show one endpoint')
    .description('Shows one endpoint and whether it is sent to now; never its secret.')
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: { json?: JsonOption }) => show(context, id, options));
  withExamples(command, [
    'svcctl endpoints show ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints show ep_4fTq9Zx7Kq2LmN0p --json breaker',
  ]);
}

async function show(context: Context, id: string, { json }: { json?: JsonOption }): Promise<void> {
  picker(json, endpointFields);
  const client = await context.connect();
  const text = await client.text('GET /webhook/endpoints/:id', { params: { id } });
  await printDetails(context, text, {
    json,
    fields: endpointFields,
    lines: () =>
      nameValueLines(context, endpointRows(parseAnswer(text) as Endpoint, context.io.now())),
  });
}

type CreateOptions = EndpointOptions & {
  tenant?: string;
  secret?: string;
  disabled?: true;
  json?: true;
};

export function addEndpointsCreate(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('create')
    .summary('register an endpoint')
    .description(
      'Registers an endpoint and prints the secret that its deliveries are signed with, this once, alone on stdout.',
    )
    .option('--tenant <tenant>', 'whose incidents it gets (required)');
  addEndpointOptions(command, 'where they are sent, https (required)')
    .option(
      '--secret <secret>',
      'whsec_…, to keep one that the receiver knows; - reads it from stdin (default: a new one)',
    )
    .option('--disabled', 'do not send to it yet')
    .option('--json', 'print the whole answer as JSON')
    .action((options: CreateOptions) => create(context, options));
  withExamples(command, [
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in > secret.txt',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --event incident.created incident.resolved',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --max-attempts 3 --retry-schedule 5,60',
  ]);
}

async function create(context: Context, options: CreateOptions): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  const url = required(options.url, '--url');
  const { max_attempts, retry_schedule, rate_limit, disable_after_days, event_types } =
    endpointBody(options);
  const body = {
    tenant,
    url,
    event_types,
    // A null means the default, which a new endpoint has anyway.
    max_attempts: max_attempts ?? undefined,
    retry_schedule: retry_schedule ?? undefined,
    rate_limit: rate_limit ?? undefined,
    disable_after_days: disable_after_days ?? undefined,
    description: options.description,
    enabled: options.disabled ? false : undefined,
    secret: options.secret === '-' ? await readSecret(context) : options.secret,
  };
  const client = await context.connect();
  const made = await client.json('POST /webhook/endpoints', { body });
  tellWarnings(context, made);
  await context.out.write(`${options.json ? JSON.stringify(made) : made.secret}\n`);
  context.note(`Registered ${made.id} of ${tenant}: ${url}. The secret is shown only this once.`);
  context.hint(`try it: svcctl endpoints ping ${made.id}`);
}

/** Prints what is allowed of an endpoint and yet seldom meant. */
function tellWarnings(context: Context, { warnings = [] }: Endpoint): void {
  for (const warning of warnings) context.note(`Mind: ${printable(warning)}`);
}

async function readSecret(context: Context): Promise<string> {
  const { readFirstLine } = await import('../confirm.ts');
  return readFirstLine(context);
}

type ChangeOptions = EndpointOptions & { json?: true };

export function addEndpointsChange(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('change')
    .summary('change an endpoint')
    .description(
      'Changes an endpoint, and prints it as it is then. A new URL also holds for what failed before.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it');
  addEndpointOptions(command, 'where it is sent to, https')
    .option('--json', 'print it as JSON')
    .action((id: string, options: ChangeOptions) => change(context, id, options));
  withExamples(command, [
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --url https://hooks.acme.example/v2',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --rate-limit 20 --max-attempts default',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --disable-after 7',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --event "*" --description ""',
  ]);
}

async function change(context: Context, id: string, options: ChangeOptions): Promise<void> {
  const { description } = options;
  const body = { ...endpointBody(options), description: description === '' ? null : description };
  if (Object.values(body).every((value) => value === undefined)) {
    throw new AppError('usage_invalid', { detail: 'Say what to change: --url, --event, …' });
  }
  const client = await context.connect();
  const changed = await client.json('PATCH /webhook/endpoints/:id', { params: { id }, body });
  tellWarnings(context, changed);
  await printDetails(context, JSON.stringify(changed), {
    json: options.json,
    fields: endpointFields,
    lines: () => nameValueLines(context, endpointRows(changed, context.io.now())),
  });
}

export function addEndpointsDelete(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('delete')
    .summary('delete an endpoint and discard what it was not sent')
    .description('Deletes an endpoint for good. What was not delivered to it is discarded.')
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--yes', 'do not ask')
    .action((id: string, options: { yes?: true }) => deleteEndpoint(context, id, options));
  withExamples(command, [
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p --yes',
  ]);
}

async function deleteEndpoint(
  context: Context,
  id: string,
  { yes }: { yes?: true },
): Promise<void> {
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Delete ${id}? What was not delivered to it is discarded.`,
    act: 'Delete',
    refused: 'Nothing was deleted.',
  });
  await client.json('DELETE /webhook/endpoints/:id', { params: { id } });
  context.note(`Deleted ${id}.`);
}

export function addEndpointsDisable(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('disable')
    .summary('send nothing to an endpoint for now')
    .description(
      'Sends nothing to an endpoint for now. What waits for it, and what is reported meanwhile, uses up no attempts; it is abandoned after SVC_DELIVERY_DAYS days.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .action((id: string) => disable(context, id));
  withExamples(command, ['svcctl endpoints disable ep_4fTq9Zx7Kq2LmN0p']);
}

async function disable(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: false },
  });
  context.note(`Disabled ${id} (${url}). What comes for it waits: svcctl endpoints enable ${id}`);
}

type EnableOptions = { discardBacklog?: true; yes?: true };

export function addEndpointsEnable(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('enable')
    .summary('send to an endpoint again')
    .description(
      'Sends to an endpoint again, also what waited meanwhile, as fast as its rate and its receiver allow. Ends a pause after failures.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--discard-backlog', 'discard what waits now instead of sending it')
    .option('--yes', 'do not ask whether to discard')
    .action((id: string, options: EnableOptions) =>
      options.discardBacklog ? discard(context, id, options) : enable(context, id),
    );
  withExamples(command, [
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p --discard-backlog',
  ]);
}

async function enable(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url, backlog } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: true },
  });
  const waiting = `${backlog.is_exact ? '' : 'at least '}${formatNumberOf(backlog.count, 'delivery', 'deliveries')}`;
  const rest =
    backlog.count === 0
      ? 'Nothing waited for it.'
      : `What waited for it (${waiting}) is sent when the drainer runs.`;
  context.note(`Enabled ${id} (${url}). ${rest}`);
}

/**
 * Asks, then has the backlog discarded and the endpoint enabled. A large backlog is discarded by a job of the service.
 */
async function discard(context: Context, id: string, { yes }: EnableOptions): Promise<void> {
  const client = await context.connect();
  const { backlog } = await client.json('GET /webhook/endpoints/:id', { params: { id } });
  await confirm(context, yes, {
    question: `Discard what waits for ${id} (${backlogOf({ backlog })}), and enable it?`,
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

type PingOptions = { json?: true };

export function addEndpointsPing(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('ping')
    .summary('send an event of type webhook.ping to an endpoint')
    .description(
      'Sends an event of type webhook.ping to an endpoint at once, past its queue, breaker and rate, and says what it answered. Prints the id of the delivery.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--json', 'print the whole answer as JSON')
    .action((id: string, options: PingOptions) => ping(context, id, options));
  withExamples(command, ['svcctl endpoints ping ep_4fTq9Zx7Kq2LmN0p']);
}

async function ping(context: Context, id: string, { json }: PingOptions): Promise<void> {
  const client = await context.connect();
  const answer = await client.json('POST /webhook/endpoints/:id/ping', { params: { id } });
  await context.out.write(`${json ? JSON.stringify(answer) : answer.id}\n`);
  if (json) return;
  const { status, failure_class, error, duration_ms, response } = answer.outcome;
  const what = failure_class === null ? `${status} delivered` : `${error} (${failure_class})`;
  context.note(`${printable(what)}, in ${duration_ms} ms.`);
  const start = printable(response ?? '').trim();
  if (start !== '') context.note(fitText(`It answered: ${start}`, 200));
  if (failure_class !== null) context.hint(`it is tried again: svcctl dlq show ${answer.id}`);
}

type RotateSecretOptions = { yes?: true; json?: true };

export function addEndpointsRotateSecret(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('rotate-secret')
    .summary('give an endpoint a new secret')
    .description(
      'Gives an endpoint a new secret and prints it, this once, alone on stdout. For 24 hours deliveries are signed with the old one as well, and with those rotated out before it on the same day.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--yes', 'do not ask')
    .option('--json', 'print the whole answer as JSON')
    .action((id: string, options: RotateSecretOptions) => rotate(context, id, options));
  withExamples(command, [
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p > secret.txt',
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p --yes --json',
  ]);
}

async function rotate(
  context: Context,
  id: string,
  { yes, json }: RotateSecretOptions,
): Promise<void> {
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Give ${id} a new secret? Its receiver must learn it within 24 hours.`,
    act: 'Rotate',
    refused: 'The secret is as it was.',
  });
  const made = await client.json('POST /webhook/endpoints/:id/rotate-secret', { params: { id } });
  await context.out.write(`${json ? JSON.stringify(made) : made.secret}\n`);
  const until = made.previous_secret_until;
  const old = until ? ` The old one also signs until ${formatInstant(until)} UTC.` : '';
  context.note(`${id} has a new secret, shown only this once.${old}`);
}
