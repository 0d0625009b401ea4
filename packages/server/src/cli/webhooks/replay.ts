import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { ReplaySelection } from '../../webhooks/values.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { followJob } from '../follow-job.ts';
import { formatInstant } from '../format.ts';
import { usage } from '../help.ts';
import { printJson } from '../output.ts';
import { createTable, noteTable } from '../table.ts';
import { moment } from './bulk-all.ts';

export type ReplayOptions = {
  since?: string;
  until?: string;
  incident?: string;
  event?: string[];
  only?: ReplaySelection;
  ids?: 'new' | 'same';
  ignoreFilters?: true;
  rate?: number;
  dryRun?: true;
  yes?: true;
  wait: boolean;
  json?: true;
};

type Request = RouteInput<'POST /webhook/endpoints/:id/replay'>['body'];
type Answer = RouteAnswer<'POST /webhook/endpoints/:id/replay'>;
type Preview = Extract<Answer, { notes: unknown }>;
type Replay = Exclude<Answer, Preview>;

/** Replays to an endpoint: shows what that sends, asks, and follows the job that does it. */
export async function replay(context: Context, options: ReplayOptions, id: string): Promise<void> {
  if ((options.since === undefined) === (options.incident === undefined)) {
    throw usage('Say what to replay: --since 2h, or --incident inc_…');
  }
  if (!options.dryRun && !options.yes) assertCanAsk(context, 'Replay');
  const body = bodyOf(context, options);
  const client = await context.connect();
  const ask = (more: Partial<Request>) =>
    client.json('POST /webhook/endpoints/:id/replay', {
      params: { id },
      body: { ...body, ...more },
    });
  const preview = await ask({ dry_run: true });
  if (!('notes' in preview)) throw unexpected();
  if (options.dryRun) {
    await printPreview(context, preview, options);
    return;
  }
  if (!options.yes || preview.count === 0) showPreview(context, preview);
  if (preview.count === 0) {
    if (options.json) await printJson(context, preview);
    context.note('Nothing to replay.');
    return;
  }
  await confirm(context, options.yes, {
    question: `Send ${howMany(preview)} to ${id}?`,
    act: 'Replay',
    refused: 'Nothing was replayed.',
  });
  const made = await ask({});
  if ('notes' in made) throw unexpected();
  if (!options.wait) {
    await context.out.write(`${options.json ? JSON.stringify(made) : made.id}\n`);
    context.hint(
      `It is at work. Look: svcctl jobs show ${made.id} · stop it: svcctl jobs cancel ${made.id}`,
    );
    return;
  }
  const job = await follow(context, client, made);
  if (options.json) await printJson(context, job);
  tellEnd(context, job);
}

function unexpected(): AppError {
  return new AppError('answer_unexpected', { detail: 'The answer is not what was asked for.' });
}

function bodyOf(context: Context, options: ReplayOptions): Request {
  const nowMillis = context.io.now();
  return {
    since: moment('--since', options.since, { nowMillis, edge: 'first' }),
    until: moment('--until', options.until, { nowMillis, edge: 'last' }),
    incident_id: options.incident,
    event_types: options.event,
    only: options.only,
    ids: options.ids,
    filters: options.ignoreFilters ? 'ignore' : undefined,
    rate: options.rate,
  };
}

const isUnderWay = ({ state }: { state: string }) => state === 'running' || state === 'paused';

function follow(context: Context, client: Client, started: Replay): Promise<Replay> {
  const { id } = started;
  return followJob(context, client, {
    ...{ route: 'GET /webhook/replays/:id', started, role: 'api', isUnderWay },
    far: (job) => ({ done: job.rows_done + job.rows_skipped, total: job.rows_total }),
    describe: (done, total) =>
      `${formatCount(done)} of ${numberOf(total, 'delivery', 'deliveries')}`,
    speed: (perSecond) => `${numberOf(perSecond, 'delivery', 'deliveries')}/s`,
    waits: (job) => [
      job.state === 'paused' ? `${id} is paused. Go on: svcctl jobs resume ${id}` : null,
      job.waits_for_endpoint
        ? `The endpoint is disabled. Go on: svcctl endpoints enable ${job.endpoint_id}`
        : null,
    ],
    goesOn: `The replay goes on without this command. Look: svcctl jobs show ${id} · stop it: svcctl jobs cancel ${id}`,
  });
}

/** Prints how a replay ended, and what has become of its deliveries by now. Throws `partly_done` if it was cancelled. */
function tellEnd(context: Context, job: Replay): void {
  const { id, rows_done: done, rows_skipped: skipped, rows_total: total } = job;
  const count = numberOf(done, 'delivery', 'deliveries');
  if (job.state === 'cancelled') {
    throw new AppError('partly_done', {
      detail: `${id} was cancelled after ${formatCount(done)} of ${formatCount(total)}. What it had queued stays queued.${job.error === null ? '' : ` ${job.error}.`}`,
    });
  }
  const left =
    skipped === 0 ? '' : `, ${formatCount(skipped)} left alone, because an attempt was under way`;
  context.note(`✓ Queued ${count}${left}. By now: ${outcomeText(job)}.`);
  context.hint(`later: svcctl jobs show ${id}`);
}

const words = {
  ...{ delivered: 'delivered', waiting: 'wait', pending: 'failed and tried again' },
  ...{ abandoned: 'abandoned', discarded: 'discarded' },
};

function outcomeText({ outcome }: Replay): string {
  const parts = Object.entries(words).flatMap(([name, word]) => {
    const count = outcome[name as keyof typeof outcome];
    return count === 0 ? [] : [`${formatCount(count)} ${word}`];
  });
  return parts.length === 0 ? 'nothing' : parts.join(' · ');
}

type Line = { count: number; what: string };
const { count, text } = columnsOf<Line>();
const columns = [count('INCIDENTS', 'count'), text('WHAT', 'what')];

const states = {
  ...{ missed: 'never got', discarded: 'discarded', failed: 'dead letters' },
  ...{ delivered: 'delivered', waiting: 'queued already', unwanted: 'that it does not want' },
  erased: 'erased',
};

function linesOf(preview: Preview): Line[] {
  return Object.entries(states).flatMap(([state, what]) => {
    const found = preview[state as keyof typeof states];
    return found === 0 ? [] : [{ count: found, what }];
  });
}

/** Prints what --dry-run would send, and the command that does it. */
async function printPreview(
  context: Context,
  preview: Preview,
  { json }: ReplayOptions,
): Promise<void> {
  if (json) {
    await printJson(context, preview);
    return;
  }
  await createTable(context, columns).write(linesOf(preview));
  tellPreview(context, preview);
}

function showPreview(context: Context, preview: Preview): void {
  noteTable(context, columns, linesOf(preview));
  tellPreview(context, preview);
}

function tellPreview(context: Context, preview: Preview): void {
  const { since, until, notes } = preview;
  for (const note of notes) context.note(note);
  context.note(
    `${howMany(preview)} would be sent of what was reported from ${formatInstant(since)} to ${formatInstant(until)}.`,
  );
}

/** The number of deliveries. It may be less where the filter was not asked about all. */
function howMany({ count, filtered_until: filteredUntil }: Preview): string {
  const atMost = filteredUntil === null ? '' : 'at most ';
  return `${atMost}${numberOf(count, 'delivery', 'deliveries')}`;
}
