import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatInstant } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { indentJson, membersOf } from '../../json-slices.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../output.ts';
import { parseAnswer } from '../../parse-answer.ts';
import type { RouteAnswer } from '../../routes.ts';
import { printable } from '../../text-width.ts';
import { heading, nameValueLines, printDetails } from '../../webhooks/details.ts';

type Incident = RouteAnswer<'GET /incidents/:id'>;

const fields = [
  'id',
  'tenant',
  'store',
  'type',
  'occurred_at',
  'created_at',
  'data',
  'deliveries',
] as const satisfies readonly (keyof Incident)[];

export function addIncidentsShow(incidents: Command, context: Context): void {
  const command = incidents
    .command('show')
    .summary('show one incident and its deliveries')
    .description('Shows one incident, its data, and what became of its deliveries.')
    .argument('<id>', 'the incident’s id')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: { json?: JsonOption }) => show(context, id, options));
  withExamples(command, [
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p',
    'svcctl incidents show inc_4fTq9Zx7Kq2LmN0p --json deliveries',
  ]);
}

async function show(context: Context, id: string, { json }: { json?: JsonOption }): Promise<void> {
  picker(json, fields);
  const client = await context.connect();
  const text = await client.text('GET /incidents/:id', { params: { id } });
  await printDetails(context, text, { json, fields, lines: () => linesOf(context, text) });
}

function linesOf(context: Context, text: string): string[] {
  const incident = parseAnswer(text) as Incident;
  const data = indentJson(membersOf(text).get('data') ?? 'null');
  return [
    ...nameValueLines(context, [
      ['id', incident.id],
      ['type', incident.type],
      ['tenant', incident.tenant],
      ['store', incident.store],
      ['occurred', `${formatInstant(incident.occurred_at)} UTC`],
      ['reported', `${formatInstant(incident.created_at)} UTC`],
    ]),
    '',
    heading(context, 'DATA'),
    ...data.split('\n').map(printable),
    '',
    heading(context, 'DELIVERIES'),
    ...(incident.deliveries.length === 0 ? ['none: no endpoint took it'] : []),
    ...incident.deliveries.map(({ id, status, endpoint_id }) =>
      printable(`${id}  ${status.padEnd(9)}  ${endpoint_id}`),
    ),
  ];
}
