import { AppError } from '../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { indentJson } from '../../kernel/json-slices.ts';
import { numberOf } from '../../kernel/values.ts';
import { paramsOf } from '../../kernel/view.ts';
import { deadLetterFilters } from '../../webhooks/view.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';
import { createTable, noteTable } from '../table.ts';
import { type DeadLetterOptions, filterWords } from './dead-letter-options.ts';
import { followRetryJob, leftAlone, type RetryJob, tellRetryEnd } from './retry-jobs.ts';

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

/** Retries all deliveries that a filter finds: shows which, asks, and follows the job that does it. */
export async function retryAll(context: Context, options: RetryAllOptions): Promise<void> {
  if (!options.dryRun && !options.yes) assertCanAsk(context, 'Retry');
  const nowMillis = context.io.now();
  const filter: Request = {
    ...paramsOf(deadLetterFilters, options),
    failed_from: moment('--from', options.from, { nowMillis, edge: 'first' }),
    failed_to: moment('--to', options.to, { nowMillis, edge: 'last' }),
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
    question: `Retry ${numberOf(preview.count, 'row')}?`,
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
  options: RetryAllOptions,
): Promise<void> {
  const job = await followRetryJob(context, client, made);
  if (options.json) await printJson(context, job);
  tellRetryEnd(context, job, commandOf(options));
}

/** Prints the id of the job, which goes on without this command. */
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

/** Prints what --dry-run would retry, and the command that does it. */
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
  context.hint(`${summary(preview)} · do it: ${commandOf(options)}`);
}

function showPreview(context: Context, preview: Preview): void {
  noteTable(context, groupColumns, preview.groups);
  context.note(`${summary(preview)}.`);
}

function summary({ count, skipped }: Preview): string {
  const left = skipped === 0 ? '' : `; ${leftAlone(skipped)}`;
  return `${numberOf(count, 'row')} would be retried${left}`;
}

function commandOf(options: RetryAllOptions): string {
  return `svcctl dlq retry --all${filterWords(options)}${timeWords(options)}`;
}

function timeWords({ from, to }: RetryAllOptions): string {
  return `${from === undefined ? '' : ` --from ${from}`}${to === undefined ? '' : ` --to ${to}`}`;
}

async function printJson(context: Context, value: object): Promise<void> {
  const text = JSON.stringify(value);
  await context.out.write(`${context.isTerminal ? indentJson(text) : text}\n`);
}

const { word, count, target } = columnsOf<Preview['groups'][number]>();
const groupColumns = [
  count('ROWS', 'count'),
  word('CLASS', 'failure_class'),
  word('ENDPOINT', 'endpoint_id'),
  target('TARGET', 'target'),
];

const unitMillis: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads the time of an option: an RFC 3339 time, a day (`edge` says which end of it), or a span ago such as 2h. Throws
 * `usage_invalid`.
 */
export function moment(
  flag: string,
  text: string | undefined,
  { nowMillis, edge }: { nowMillis: number; edge: 'first' | 'last' },
): string | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return formatMicros((nowMillis - Number(amount) * (unitMillis[unit] ?? 0)) * 1000);
  }
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const time = isDay
    ? `${text}T${edge === 'first' ? '00:00:00.000000' : '23:59:59.999999'}Z`
    : text;
  if (parseInstant(time) !== null) return time;
  throw usage(
    `${flag}: "${text}" is neither a time such as 2026-03-05T14:00:00Z, nor a day, nor a span ago such as 2h.`,
  );
}
