import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatNumberOf } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import { targetColumn } from '../../webhooks/deliveries.ts';
import { backlogOf, type Endpoint, endpointFields, stateOf } from '../../webhooks/endpoints.ts';

type Options = { tenant?: string; json?: JsonOption };

export function addEndpointsLs(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('ls')
    .summary('list the endpoints')
    .description('Lists the endpoints by tenant; never their secrets.')
    .option('--tenant <tenant>', 'only of this tenant')
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listEndpoints(context, options));
  withExamples(command, [
    'svcctl endpoints ls --tenant TX',
    'svcctl endpoints ls --json id,url,enabled,breaker',
  ]);
}

async function listEndpoints(context: Context, { json, tenant }: Options): Promise<void> {
  const now = context.io.now();
  const printer = createRowPrinter<Endpoint>(context, {
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
  });
  const client = await context.connect();
  let printed = 0;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /webhook/endpoints',
    query: { tenant },
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    printed === 0
      ? 'No endpoints. Register one: svcctl endpoints create --tenant TENANT --url https://…'
      : formatNumberOf(printed, 'endpoint'),
  );
}
