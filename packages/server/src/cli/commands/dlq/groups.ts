import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatCount, formatNumberOf, formatRelative } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { readPage } from '../../pages.ts';
import type { RouteAnswer } from '../../routes.ts';
import type { Column } from '../../table.ts';
import {
  addReach,
  addStatus,
  type DeadLetterOptions,
  requiredStatus,
} from '../../webhooks/dead-letter-options.ts';
import { targetColumn } from '../../webhooks/deliveries.ts';

type Group = RouteAnswer<'GET /webhook/dlq/groups'>['data'][number];

const fields = [
  'endpoint_id',
  'tenant',
  'target',
  'failure_class',
  'count',
  'first_seen',
  'last_seen',
  'error',
] as const satisfies readonly (keyof Group)[];

type Options = DeadLetterOptions & { limit?: number; json?: JsonOption };

export function addDlqGroups(dlq: Command, context: Context): void {
  const command = dlq
    .command('groups')
    .summary('sum up the dead-letter queue by endpoint and failure class')
    .description(
      'Sums up the dead-letter queue by endpoint and failure class, largest group first.',
    );
  addStatus(command, 'pending or abandoned (required)');
  addReach(command)
    .option('--limit <groups>', 'groups, at most (default: 100)', wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listGroups(context, options));
  withExamples(command, [
    'svcctl dlq groups --status abandoned',
    'svcctl dlq groups --status pending --tenant TX --json endpoint_id,failure_class,count',
  ]);
}

async function listGroups(context: Context, options: Options): Promise<void> {
  const { json, tenant, endpoint, limit } = options;
  const status = requiredStatus(options.status);
  const columns = columnsOf(context.io.now());
  const printer = createRowPrinter<Group>(context, { columns, fields, json });
  const client = await context.connect();
  const query = { status, tenant, endpoint_id: endpoint, limit };
  const { rows } = readPage(await client.text('GET /webhook/dlq/groups', { query }));
  await printer.write(rows);
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    rows.length === 0
      ? `None ${status}.`
      : `${formatNumberOf(rows.length, 'group')} · retry one: svcctl dlq retry --all --status ${status} --endpoint ep_… --class CLASS`,
  );
}

function columnsOf(nowMs: number): readonly Column<Group>[] {
  const time = (title: string, value: (group: Group) => string): Column<Group> => ({
    title,
    value,
    shown: (group) => formatRelative(value(group), nowMs),
  });
  return [
    {
      title: 'ROWS',
      align: 'right',
      value: (group) => group.count,
      shown: (group) => formatCount(group.count),
    },
    { title: 'CLASS', value: (group) => group.failure_class },
    { title: 'TENANT', isElastic: true, value: (group) => group.tenant },
    { title: 'ENDPOINT', value: (group) => group.endpoint_id },
    targetColumn('TARGET', (group) => group.target),
    time('FIRST', (group) => group.first_seen),
    time('LAST', (group) => group.last_seen),
    { title: 'ERROR', isElastic: true, givesWay: 1, value: (group) => group.error },
  ];
}
