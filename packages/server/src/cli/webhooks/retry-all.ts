import { AppError } from '../../kernel/errors.ts';
import type { Client } from '../client.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatCount, formatNumberOf } from '../format.ts';
import { indentJson } from '../json-slices.ts';
import type { RouteAnswer, RouteInput } from '../routes.ts';
import { type Column, createTable, noteTable } from '../table.ts';
import { type DeadLetterOptions, deadLetterFilter, filterWords } from './dead-letter-options.ts';
import { targetColumn } from './deliveries.ts';
import { moment } from './moment.ts';
import { followJob, leftAlone, type RetryJob, tellEnd } from './retry-jobs.ts';

export type RetryAllOptions = DeadLetterOptions & {
  from?: string;
  to?: string;
  rate?: number;
  dryRun?: true;
  yes?: true;
  wait: boolean;
  json?: true;
};

type Request = RouteInput<'POST /webhook/dlq/retry'>['body'];
type Answer = RouteAnswer<'POST /webhook/dlq/retry'>;
type Preview = Extract<Answer, { groups: unknown }>;

/** Re-arms all rows that a filter finds: shows which, asks, and follows the job that does it. */
export async function retryAll(context: Context, options: RetryAllOptions): Promise<void> {
  if (!options.dryRun && !options.yes) assertCanAsk(context, 'Retry');
  const nowMs = context.io.now();
  const filter: Request = {
    ...deadLetterFilter(options),
    failed_from: moment('--from', options.from, { nowMs, edge: 'first' }),
    failed_to: moment('--to', options.to, { nowMs, edge: 'last' }),
  };
  const client = await context.connect();
  const preview = await previewRetry(client, filter);
  if (options.dryRun) {
    await printPreview(context, preview, options);
    return;
  }
  if (preview.count === 0) {
    await endWithNothing(context, preview, options);
    return;
  }
  if (!options.yes) showPreview(context, preview);
  await confirm(context, options.yes, {
    question: `Retry ${formatNumberOf(preview.count, 'row')}?`,
    act: 'Retry',
    refused: 'Nothing was retried.',
  });
  const made = await client.json('POST /webhook/dlq/retry', {
    body: { ...filter, rate: options.rate },
  });
  if ('groups' in made) throw new AppError('answer_unexpected', { detail: 'There is no job.' });
  if (options.wait) await wait(context, client, made, options);
  else await leave(context, made, options);
}

async function previewRetry(client: Client, filter: Request): Promise<Preview> {
  const answer = await client.json('POST /webhook/dlq/retry', {
    body: { ...filter, dry_run: true },
  });
  if ('groups' in answer) return answer;
  throw new AppError('answer_unexpected', { detail: 'The answer is not a preview.' });
}

async function wait(
  context: Context,
  client: Client,
  made: RetryJob,
  { json }: RetryAllOptions,
): Promise<void> {
  const job = await followJob(context, client, made);
  if (json) await printJson(context, job);
  tellEnd(context, job);
}

async function leave(context: Context, job: RetryJob, { json }: RetryAllOptions): Promise<void> {
  if (json) await printJson(context, job);
  else await context.out.write(`${job.id}\n`);
  context.hint(`It is at work. Look: svcctl dlq retries · stop it: svcctl dlq cancel ${job.id}`);
}

async function endWithNothing(
  context: Context,
  preview: Preview,
  { json }: RetryAllOptions,
): Promise<void> {
  if (json) await printJson(context, preview);
  const left = preview.skipped === 0 ? '' : `; ${leftAlone(preview.skipped)}`;
  context.note(`Nothing to retry${left}.`);
}

async function printPreview(
  context: Context,
  preview: Preview,
  options: RetryAllOptions,
): Promise<void> {
  if (options.json) {
    await printJson(context, preview);
    return;
  }
  await createTable(context, groupColumns).write(preview.groups);
  context.hint(
    `${summary(preview)} · do it: svcctl dlq retry --all${filterWords(options)}${timeWords(options)}`,
  );
}

function showPreview(context: Context, preview: Preview): void {
  noteTable(context, groupColumns, preview.groups);
  context.note(`${summary(preview)}.`);
}

function summary({ count, skipped }: Preview): string {
  const left = skipped === 0 ? '' : `; ${leftAlone(skipped)}`;
  return `${formatNumberOf(count, 'row')} would be retried${left}`;
}

function timeWords({ from, to }: RetryAllOptions): string {
  return `${from === undefined ? '' : ` --from ${from}`}${to === undefined ? '' : ` --to ${to}`}`;
}

async function printJson(context: Context, value: object): Promise<void> {
  const text = JSON.stringify(value);
  await context.out.write(`${context.isTerminal ? indentJson(text) : text}\n`);
}

const groupColumns: readonly Column<Preview['groups'][number]>[] = [
  {
    title: 'ROWS',
    align: 'right',
    value: (group) => group.count,
    shown: (group) => formatCount(group.count),
  },
  { title: 'CLASS', value: (group) => group.failure_class },
  { title: 'ENDPOINT', value: (group) => group.endpoint_id },
  targetColumn('TARGET', (group) => group.target),
];
