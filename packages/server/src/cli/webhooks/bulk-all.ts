import { AppError } from '../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { numberOf } from '../../kernel/values.ts';
import { paramsOf } from '../../kernel/view.ts';
import type { BulkAction } from '../../webhooks/values.ts';
import { bulkFilters } from '../../webhooks/view.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';
import { printJson } from '../output.ts';
import { createTable, noteTable } from '../table.ts';
import { type BulkJob, followBulkJob, leftAlone, tellBulkEnd } from './bulk-jobs.ts';
import { type BulkFilters, filterWords } from './dead-letter-options.ts';

export type BulkOptions = BulkFilters & {
  from?: string;
  to?: string;
  olderThan?: string;
  rate?: number;
  dryRun?: true;
  yes?: true;
  wait: boolean;
  json?: true;
};

type Request = RouteInput<'POST /webhook/dlq/retry'>['body'];
type Answer = RouteAnswer<'POST /webhook/dlq/retry'>;
type Preview = Extract<Answer, { groups: unknown }>;

const words = {
  retry: { act: 'Retry', done: 'retried', note: '' },
  purge: { act: 'Discard', done: 'discarded', note: ' It cannot be undone.' },
} as const;

/** Retries or purges all deliveries that a filter finds: shows which, asks, and follows the job that does it. */
export async function doAll(
  context: Context,
  action: BulkAction,
  options: BulkOptions,
): Promise<void> {
  const { act, done, note } = words[action];
  if (!options.dryRun && !options.yes) assertCanAsk(context, act);
  const nowMillis = context.io.now();
  if (options.to !== undefined && options.olderThan !== undefined) {
    throw usage('--older-than says until when, and so does --to. Give one of them.');
  }
  const filter: Request = {
    ...paramsOf(bulkFilters, options),
    failed_from: moment('--from', options.from, { nowMillis, edge: 'first' }),
    failed_to: moment('--to', options.to, { nowMillis, edge: 'last' }),
    older_than: options.olderThan,
  };
  const client = await context.connect();
  const route = `POST /webhook/dlq/${action}` as const;
  const preview = await previewAll(client, route, filter);
  if (options.dryRun) {
    await printPreview(context, preview, { action, options });
    return;
  }
  if (preview.count === 0) {
    if (options.json) await printJson(context, preview);
    context.note(`Nothing to ${act.toLowerCase()}${leftText(preview, action)}.`);
    return;
  }
  if (!options.yes) {
    noteTable(context, groupColumns, preview.groups);
    context.note(`${summary(preview, action)}.`);
  }
  await confirm(context, options.yes, {
    question: `${act} ${numberOf(preview.count, 'row')}?${note}`,
    act,
    refused: `Nothing was ${done}.`,
  });
  const made = await client.json(route, { body: { ...filter, rate: options.rate } });
  if ('groups' in made) throw new AppError('answer_unexpected', { detail: 'There is no job.' });
  if (!options.wait) {
    await leave(context, made, options);
    return;
  }
  const job = await followBulkJob(context, client, made);
  if (options.json) await printJson(context, job);
  tellBulkEnd(context, job, commandOf(action, options));
}

async function previewAll(
  client: Client,
  route: `POST /webhook/dlq/${BulkAction}`,
  filter: Request,
): Promise<Preview> {
  const answer = await client.json(route, { body: { ...filter, dry_run: true } });
  if ('groups' in answer) return answer;
  throw new AppError('answer_unexpected', { detail: 'The answer is not a preview.' });
}

/** Prints the id of the job, which goes on without this command. */
async function leave(context: Context, job: BulkJob, { json }: BulkOptions): Promise<void> {
  if (json) await printJson(context, job);
  else await context.out.write(`${job.id}\n`);
  context.hint(`It is at work. Look: svcctl dlq jobs · stop it: svcctl dlq cancel ${job.id}`);
}

/** Prints what --dry-run would do, and the command that does it. */
async function printPreview(
  context: Context,
  preview: Preview,
  { action, options }: { action: BulkAction; options: BulkOptions },
): Promise<void> {
  if (options.json) {
    await printJson(context, preview);
    return;
  }
  await createTable(context, groupColumns).write(preview.groups);
  context.hint(`${summary(preview, action)} · do it: ${commandOf(action, options)}`);
}

function summary(preview: Preview, action: BulkAction): string {
  return `${numberOf(preview.count, 'row')} would be ${words[action].done}${leftText(preview, action)}`;
}

function leftText({ skipped }: Preview, action: BulkAction): string {
  return skipped === 0 ? '' : `; ${leftAlone(skipped, action)}`;
}

function commandOf(action: BulkAction, options: BulkOptions): string {
  return `svcctl dlq ${action} --all${filterWords(options)}${timeWords(options)}`;
}

function timeWords({ from, to, olderThan }: BulkOptions): string {
  return [
    from === undefined ? '' : ` --from ${from}`,
    to === undefined ? '' : ` --to ${to}`,
    olderThan === undefined ? '' : ` --older-than ${olderThan}`,
  ].join('');
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
