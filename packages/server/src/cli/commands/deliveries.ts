import { type Command, Option } from 'commander';
import { type DeliveryStatus, deliveryStatuses } from '../../webhooks/values.ts';
import type { Context } from '../context.ts';
import { formatNumberOf } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { walkPages } from '../pages.ts';
import { addReach } from '../webhooks/dead-letter-options.ts';
import { type DeliveryRow, deliveryColumns, deliveryFields } from '../webhooks/deliveries.ts';

type Options = {
  status?: DeliveryStatus;
  tenant?: string;
  endpoint?: string;
  incident?: string;
  limit?: number;
  json?: JsonOption;
};

const rowsByDefault = 100;

export function addDeliveriesLs(deliveries: Command, context: Context): void {
  const command = deliveries
    .command('ls')
    .summary('list deliveries in every state')
    .description('Lists deliveries in every state, newest first.')
    .addOption(new Option('--status <status>', 'only in this state').choices(deliveryStatuses));
  addReach(command)
    .option('--incident <id>', 'only of this incident')
    .option('--limit <rows>', `rows, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listDeliveries(context, options));
  withExamples(command, [
    'svcctl deliveries ls --tenant TX',
    'svcctl deliveries ls --status delivered --limit 1000 --json id,target,finished_at',
    'svcctl deliveries ls --incident inc_4fTq9Zx7Kq2LmN0p',
  ]);
}

async function listDeliveries(context: Context, options: Options): Promise<void> {
  const { json, limit = rowsByDefault, status, tenant } = options;
  const printer = createRowPrinter<DeliveryRow>(context, {
    columns: deliveryColumns(context.io.now()),
    fields: deliveryFields,
    json,
  });
  const client = await context.connect();
  const query = { status, tenant, endpoint_id: options.endpoint, incident_id: options.incident };
  let printed = 0;
  let hasMore = false;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /webhook/deliveries',
    query,
    most: limit,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
    hasMore = page.nextCursor !== null;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  const count = formatNumberOf(printed, 'delivery', 'deliveries');
  if (printed === 0) context.hint('No deliveries match.');
  else
    context.hint(
      `${count}${hasMore ? ' · there are older ones: --limit' : ''} · one: svcctl dlq show dlv_…`,
    );
}
