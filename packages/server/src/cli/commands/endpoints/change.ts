import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { nameValueLines, printDetails } from '../../webhooks/details.ts';
import {
  addEndpointOptions,
  type EndpointOptions,
  endpointBody,
} from '../../webhooks/endpoint-options.ts';
import { endpointFields, endpointRows } from '../../webhooks/endpoints.ts';

type Options = EndpointOptions & { json?: true };

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
    .action((id: string, options: Options) => change(context, id, options));
  withExamples(command, [
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --url https://hooks.acme.example/v2',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --rate-limit 20 --max-attempts default',
    'svcctl endpoints change ep_4fTq9Zx7Kq2LmN0p --event "*" --description ""',
  ]);
}

async function change(context: Context, id: string, options: Options): Promise<void> {
  const { description } = options;
  const body = { ...endpointBody(options), description: description === '' ? null : description };
  if (Object.values(body).every((value) => value === undefined)) {
    throw new AppError('usage_invalid', { detail: 'Say what to change: --url, --event, …' });
  }
  const client = await context.connect();
  const changed = await client.json('PATCH /webhook/endpoints/:id', { params: { id }, body });
  await printDetails(context, JSON.stringify(changed), {
    json: options.json,
    fields: endpointFields,
    lines: () => nameValueLines(context, endpointRows(changed, context.io.now())),
  });
}
