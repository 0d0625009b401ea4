import { type Command, Option } from 'commander';
import { type DeliveryStatus, deliveryStatuses } from '../../webhooks/values.ts';
import type { Context } from '../context.ts';
import { formatNumberOf } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { printList } from '../pages.ts';
import { addReach } from '../webhooks/dead-letter-options.ts';
import { deliveryColumns, deliveryFields } from '../webhooks/deliveries.ts';

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
  const columns = deliveryColumns(context.io.now());
  const query = { status, tenant, endpoint_id: options.endpoint, incident_id: options.incident };
  const output = { columns, fields: deliveryFields, json };
  await printList(context, output, {
    route: 'GET /webhook/deliveries',
    query,
    most: limit,
    tell({ printed, hasMore }) {
      if (printed === 0) return 'No deliveries match.';
      const more = hasMore ? ' · there are older ones: --limit' : '';
      const count = formatNumberOf(printed, 'delivery', 'deliveries');
      return `${count}${more} · one: svcctl dlq show dlv_…`;
    },
  });
}
