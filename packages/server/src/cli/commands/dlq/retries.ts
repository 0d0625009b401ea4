import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatCount, formatNumberOf, formatRelative } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import type { Column } from '../../table.ts';
import { type RetryJob, retryJobFields } from '../../webhooks/retry-jobs.ts';

const rowsByDefault = 20;

export function addDlqRetries(dlq: Command, context: Context): void {
  const command = dlq
    .command('retries')
    .summary('list the jobs of dlq retry --all, and how far they are')
    .description(
      'Lists the jobs that dlq retry --all has made, newest first, and how far they are.',
    )
    .option('--limit <jobs>', `jobs, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: { limit?: number; json?: JsonOption }) => listRetries(context, options));
  withExamples(command, [
    'svcctl dlq retries',
    'svcctl dlq retries --limit 1 --json state,rows_done,rows_total',
  ]);
}

async function listRetries(
  context: Context,
  { json, limit = rowsByDefault }: { limit?: number; json?: JsonOption },
): Promise<void> {
  const columns = columnsOf(context.io.now());
  const printer = createRowPrinter<RetryJob>(context, { columns, fields: retryJobFields, json });
  const client = await context.connect();
  let printed = 0;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /webhook/dlq/retries',
    query: {},
    most: limit,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    printed === 0
      ? 'No jobs. Make one: svcctl dlq retry --all --status abandoned'
      : `${formatNumberOf(printed, 'job')} · svcctl dlq pause|resume|cancel rty_…`,
  );
}

function columnsOf(nowMs: number): readonly Column<RetryJob>[] {
  const count = (title: string, value: (job: RetryJob) => number): Column<RetryJob> => ({
    title,
    align: 'right',
    value,
    shown: (job) => formatCount(value(job)),
  });
  return [
    { title: 'ID', value: (job) => job.id },
    { title: 'STATE', value: (job) => job.state },
    count('DONE', (job) => job.rows_done),
    count('OF', (job) => job.rows_total),
    count('LEFT ALONE', (job) => job.rows_skipped),
    { title: 'FILTER', isElastic: true, value: filterText },
    { title: 'BY', isElastic: true, value: (job) => job.created_by },
    {
      title: 'CREATED',
      value: (job) => job.created_at,
      shown: (job) => formatRelative(job.created_at, nowMs),
    },
  ];
}

function filterText(job: RetryJob): string {
  const { status, tenant, endpoint_id, failure_class, failed_from, failed_to, rate } = job;
  const parts = { status, tenant, endpoint: endpoint_id, class: failure_class };
  const times = { from: failed_from, to: failed_to, rate };
  const given = Object.entries({ ...parts, ...times }).filter(([, value]) => value !== null);
  return given.length === 0 ? 'all' : given.map(([name, value]) => `${name}=${value}`).join(' ');
}
