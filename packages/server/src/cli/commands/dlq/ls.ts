import type { Command } from 'commander';
import type { DeadLetterStatus } from '../../../webhooks/contract.ts';
import type { Context } from '../../context.ts';
import { formatCount } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import {
  addClass,
  addReach,
  addStatus,
  type DeadLetterOptions,
  deadLetterFilter,
  filterWords,
  requiredStatus,
} from '../../webhooks/dead-letter-options.ts';
import { type DeliveryRow, deadLetterColumns, deliveryFields } from '../../webhooks/deliveries.ts';

type Options = DeadLetterOptions & { q?: string; limit?: number; json?: JsonOption };

const rowsOnTerminal = 200;

export function addDlqLs(dlq: Command, context: Context): void {
  const command = dlq
    .command('ls')
    .summary('list the dead-letter queue')
    .description(
      'Lists the deliveries that failed, newest failure first: pending ones are tried again by themselves,\nabandoned ones wait for a retry.',
    );
  addStatus(command, 'pending or abandoned (required)');
  addClass(addReach(command))
    .option('--q <text>', 'part of the target or the error, or the beginning of an id or key')
    .option(
      '--limit <rows>',
      `rows, at most (default: ${rowsOnTerminal} on a terminal, else all)`,
      wholeNumber(1),
    )
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listDeadLetters(context, options));
  withExamples(command, [
    'svcctl dlq ls --status pending',
    'svcctl dlq ls --status abandoned --tenant TX --class timeout_connect',
    'svcctl dlq ls --status abandoned --json id,target,error',
  ]);
}

async function listDeadLetters(context: Context, options: Options): Promise<void> {
  const { json, q } = options;
  const status = requiredStatus(options.status);
  const printer = createRowPrinter<DeliveryRow>(context, {
    columns: deadLetterColumns(status, context.io.now()),
    fields: deliveryFields,
    json,
  });
  const client = await context.connect();
  const found = { printed: 0, total: null as number | null, hasMore: false };
  for await (const page of walkPages(context.io, client, {
    route: 'GET /webhook/dlq',
    query: { ...deadLetterFilter(options), status, q },
    most: options.limit ?? (context.isTerminal ? rowsOnTerminal : Infinity),
  })) {
    await printer.write(page.rows);
    found.printed += page.rows.length;
    found.total = page.total;
    found.hasMore = page.nextCursor !== null;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    found.printed === 0 ? emptyLine(status, options) : countLine(status, found, options),
  );
}

/** 2 of 2 abandoned · retry one: svcctl dlq retry dlv_… · retry all: … */
function countLine(
  status: DeadLetterStatus,
  { printed, total, hasMore }: { printed: number; total: number | null; hasMore: boolean },
  options: Options,
): string {
  const count =
    total === null ? formatCount(printed) : `${formatCount(printed)} of ${formatCount(total)}`;
  const parts = [`${count} ${status}`];
  if (hasMore) parts.push('more: --limit');
  parts.push('retry one: svcctl dlq retry dlv_…');
  // A bulk retry knows no --q: offering it would retry more than is shown.
  if (options.q === undefined)
    parts.push(`retry all: svcctl dlq retry --all${filterWords(options)}`);
  return parts.join(' · ');
}

function emptyLine(
  status: DeadLetterStatus,
  { tenant, endpoint, q, class: failure }: Options,
): string {
  const isFiltered = [tenant, endpoint, q, failure].some((value) => value !== undefined);
  return isFiltered ? `None ${status} that match.` : `DLQ is clean: none ${status}.`;
}
