import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import type { Context } from '../context.ts';
import { formatCount, formatNumberOf, formatRelative } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import type { Column } from '../table.ts';
import { addClass, addReach, addStatus } from '../webhooks/dead-letter-options.ts';
import type { DeliveryRow } from '../webhooks/deliveries.ts';
import { assertAllDone, type RetryAllOptions, tryEachId } from '../webhooks/retry-all.ts';
import { type RetryJob, retryJobFields } from '../webhooks/retry-jobs.ts';

type RetryOptions = RetryAllOptions & { all?: true };

export function addDlqRetry(dlq: Command, context: Context): void {
  const command = dlq
    .command('retry')
    .summary('re-arm failed deliveries, by id or all that match')
    .description(
      'Queues failed deliveries at once, with a fresh budget of attempts; the drainer sends them when it runs. With --all it is a job of the service: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work.',
    )
    .argument('[id...]', 'ids, as svcctl dlq ls prints them')
    .option('--all', 'all rows, or those that the options below leave');
  addStatus(command, 'with --all: only pending or only abandoned ones (default: both)');
  addClass(addReach(command))
    .option(
      '--from <time>',
      'only what failed from then on: a time, a day, or a span ago such as 2h',
    )
    .option('--to <time>', 'only what failed up to then')
    .option('--rate <rows>', 'rows re-armed a second, at most', wholeNumber(1))
    .option('--dry-run', 'only show what would be re-armed')
    .option('--yes', 'do not ask')
    .option('--no-wait', 'print the job’s id and leave it at work')
    .option('--json', 'print the rows, or the job, as JSON')
    .action((ids: string[], options: RetryOptions) => retry(context, ids, options));
  withExamples(command, [
    'svcctl dlq retry dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq ls --status abandoned --tenant TX | cut -f1 | xargs -r svcctl dlq retry',
    'svcctl dlq retry --all --status abandoned --endpoint ep_4fTq9Zx7Kq2LmN0p --dry-run',
    'svcctl dlq retry --all --status abandoned --from 2h --rate 100 --yes',
  ]);
}

/** Retries either the given ids, or with --all whatever the filter finds. */
async function retry(
  context: Context,
  ids: readonly string[],
  options: RetryOptions,
): Promise<void> {
  if (ids.length > 0 === (options.all === true)) {
    throw new AppError('usage_invalid', {
      detail: 'Give ids, or --all with what to retry. List them: svcctl dlq ls --status abandoned',
    });
  }
  if (options.all) {
    const { retryAll } = await import('../webhooks/retry-all.ts');
    await retryAll(context, options);
    return;
  }
  refuseFilters(options);
  await retryEach(context, ids, options);
}

/** Retries ids one by one, and prints which were refused. */
async function retryEach(
  context: Context,
  ids: readonly string[],
  { json }: RetryOptions,
): Promise<void> {
  const printer = createRowPrinter<DeliveryRow>(context, {
    columns: [],
    fields: [],
    json: json ?? undefined,
  });
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    const text = await client.text('POST /webhook/dlq/:id/retry', { params: { id } });
    if (json) await printer.write([text]);
    else {
      const { target } = parseAnswer(text) as DeliveryRow;
      context.note(`Retry queued for ${id} (${target}). The drainer sends it when it runs.`);
    }
  });
  if (json) await printer.end();
  assertAllDone(refused);
}

/** Refuses filters beside ids, because a filter would seem to narrow the ids down. */
function refuseFilters(options: RetryOptions): void {
  const onlyAll = ['status', 'tenant', 'endpoint', 'class', 'from', 'to', 'rate'] as const;
  const given = onlyAll.find((name) => options[name] !== undefined);
  const flag = given ?? (options.dryRun ? 'dry-run' : undefined);
  if (flag === undefined) return;
  throw new AppError('usage_invalid', { detail: `--${flag} goes with --all, not with ids.` });
}

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
  const output = { columns: columnsOf(context.io.now()), fields: retryJobFields, json };
  await printList(context, output, {
    route: 'GET /webhook/dlq/retries',
    query: {},
    most: limit,
    tell: ({ printed }) =>
      printed === 0
        ? 'No jobs. Make one: svcctl dlq retry --all --status abandoned'
        : `${formatNumberOf(printed, 'job')} · svcctl dlq pause|resume|cancel rty_…`,
  });
}

function columnsOf(nowMillis: number): readonly Column<RetryJob>[] {
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
      shown: (job) => formatRelative(job.created_at, nowMillis),
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

export function addDlqPause(dlq: Command, context: Context): void {
  const command = dlq
    .command('pause')
    .summary('hold a job of dlq retry --all')
    .description('Holds a job of dlq retry --all where it is. What it has re-armed stays so.')
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .action((id: string) => pause(context, id));
  withExamples(command, ['svcctl dlq pause rty_4fTq9Zx7Kq2LmN0p']);
}

async function pause(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const job = await client.json('PATCH /webhook/dlq/retries/:id', {
    params: { id },
    body: { state: 'paused' },
  });
  const done = `${formatCount(job.rows_done)} of ${formatCount(job.rows_total)}`;
  context.note(`Paused ${id} at ${done}. Go on: svcctl dlq resume ${id}`);
}

type ResumeOptions = { rate?: number | 'none' };

export function addDlqResume(dlq: Command, context: Context): void {
  const command = dlq
    .command('resume')
    .summary('let a held job go on')
    .description(
      'Lets a held job of dlq retry --all go on. --rate changes its pace, also of one that runs.',
    )
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .option(
      '--rate <rows>',
      'rows re-armed a second, at most; none = as fast as it goes',
      parseRate,
    )
    .action((id: string, options: ResumeOptions) => resume(context, id, options));
  withExamples(command, [
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p --rate 50',
  ]);
}

async function resume(context: Context, id: string, { rate }: ResumeOptions): Promise<void> {
  const client = await context.connect();
  await client.json('PATCH /webhook/dlq/retries/:id', {
    params: { id },
    body: { state: 'running', rate: rate === 'none' ? null : rate },
  });
  context.note(`${id} goes on. Look: svcctl dlq retries`);
}

function parseRate(text: string): number | 'none' {
  if (text === 'none') return text;
  try {
    return wholeNumber(1)(text);
  } catch {
    throw new InvalidArgumentError('It is neither a whole number from 1 on, nor none.');
  }
}

export function addDlqCancel(dlq: Command, context: Context): void {
  const command = dlq
    .command('cancel')
    .summary('end a job of dlq retry --all')
    .description('Ends a job of dlq retry --all for good. What it has re-armed stays so.')
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .action((id: string) => cancel(context, id));
  withExamples(command, ['svcctl dlq cancel rty_4fTq9Zx7Kq2LmN0p']);
}

async function cancel(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  await client.json('DELETE /webhook/dlq/retries/:id', { params: { id } });
  const { state } = await client.json('GET /webhook/dlq/retries/:id', { params: { id } });
  context.note(state === 'cancelled' ? `Cancelled ${id}.` : `${id} had ended already: ${state}.`);
}
