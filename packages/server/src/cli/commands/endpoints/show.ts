import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../output.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { nameValueLines, printDetails } from '../../webhooks/details.ts';
import { type Endpoint, endpointFields, endpointRows } from '../../webhooks/endpoints.ts';

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
