import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatInstant, formatNumberOf } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import type { RouteAnswer } from '../../routes.ts';
import type { Column } from '../../table.ts';

type Incident = RouteAnswer<'GET /incidents'>['data'][number];

const fields = [
  'id',
  'tenant',
  'store',
  'type',
  'occurred_at',
  'created_at',
] as const satisfies readonly (keyof Incident)[];

type Options = { tenant?: string; limit?: number; json?: JsonOption };

const rowsByDefault = 100;

export function addIncidentsLs(incidents: Command, context: Context): void {
  const command = incidents
    .command('ls')
    .summary('list the incidents')
    .description('Lists the incidents that were reported, newest first.')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--limit <rows>', `rows, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listIncidents(context, options));
  withExamples(command, ['svcctl incidents ls --tenant TX', 'svcctl incidents ls --json id,type']);
}

async function listIncidents(
  context: Context,
  { json, limit = rowsByDefault, tenant }: Options,
): Promise<void> {
  const printer = createRowPrinter<Incident>(context, { columns, fields, json });
  const client = await context.connect();
  let printed = 0;
  let hasMore = false;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /incidents',
    query: { tenant },
    most: limit,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
    hasMore = page.nextCursor !== null;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  if (printed === 0)
    context.hint(
      'No incidents. Report one: svcctl incidents send --tenant TENANT --type incident.created',
    );
  else
    context.hint(
      `${formatNumberOf(printed, 'incident')}${hasMore ? ' · there are older ones: --limit' : ''}`,
    );
}

const columns: readonly Column<Incident>[] = [
  { title: 'ID', value: (row) => row.id },
  {
    title: 'OCCURRED AT (UTC)',
    value: (row) => row.occurred_at,
    shown: (row) => formatInstant(row.occurred_at),
  },
  { title: 'TYPE', isElastic: true, value: (row) => row.type },
  { title: 'TENANT', isElastic: true, value: (row) => row.tenant },
  { title: 'STORE', isElastic: true, value: (row) => row.store },
];
