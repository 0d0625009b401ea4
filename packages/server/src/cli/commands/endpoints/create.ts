import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { required, withExamples } from '../../help.ts';
import {
  addEndpointOptions,
  type EndpointOptions,
  endpointBody,
} from '../../webhooks/endpoint-options.ts';

type Options = EndpointOptions & {
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
      'Registers an endpoint and prints the secret that its deliveries are signed with, this once, alone on\nstdout.',
    )
    .option('--tenant <tenant>', 'whose incidents it gets (required)');
  addEndpointOptions(command, 'where they are sent, https (required)')
    .option(
      '--secret <secret>',
      'whsec_…, to keep one that the receiver knows; - reads it from stdin (default: a new one)',
    )
    .option('--disabled', 'do not send to it yet')
    .option('--json', 'print the whole answer as JSON')
    .action((options: Options) => create(context, options));
  withExamples(command, [
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in > secret.txt',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --event incident.created incident.resolved',
    'svcctl endpoints create --tenant TX --url https://hooks.acme.example/in --max-attempts 3 --retry-schedule 5,60',
  ]);
}

async function create(context: Context, options: Options): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  const url = required(options.url, '--url');
  const { max_attempts, retry_schedule, rate_limit, event_types } = endpointBody(options);
  const body = {
    tenant,
    url,
    event_types,
    // A new one has the defaults anyway.
    max_attempts: max_attempts ?? undefined,
    retry_schedule: retry_schedule ?? undefined,
    rate_limit: rate_limit ?? undefined,
    description: options.description,
    enabled: options.disabled ? false : undefined,
    secret: options.secret === '-' ? await readSecret(context) : options.secret,
  };
  const client = await context.connect();
  const made = await client.json('POST /webhook/endpoints', { body });
  await context.out.write(`${options.json ? JSON.stringify(made) : made.secret}\n`);
  context.note(`Registered ${made.id} of ${tenant}: ${url}. The secret is shown only this once.`);
  context.hint(`try it: svcctl endpoints ping ${made.id}`);
}

async function readSecret(context: Context): Promise<string> {
  const { readFirstLine } = await import('../../prompt.ts');
  return readFirstLine(context);
}
