import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { outcomeText } from '../../webhooks/dead-letters/view.ts';
import { replayIds, replaySelections } from '../../webhooks/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatInstant } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { noteTable } from '../table.ts';
import { readTime } from '../times.ts';
import { verb, yesOption } from '../verb.ts';
import { doPreviewed } from './previewed-job.ts';

type Answer = RouteAnswer<'POST /webhook/endpoints/:id/replay'>;
type Preview = Extract<Answer, { notes: unknown }>;
type Replay = Exclude<Answer, Preview>;

/** Replays to an endpoint: shows what that sends, asks, and follows the job that does it. */
export const replay = verb({
  summary: 'send an endpoint what it missed, or again what it got',
  description:
    'Sends an endpoint what was reported in a range of time: what it never got (the default), its dead letters, what was delivered, or all of it, in the order of the reports. It is a job of the service: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work. New reports go first.',
  argument: ['<id>', 'the endpoint’s id, as svcctl endpoints ls prints it'],
  examples: [
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --since 2h --dry-run',
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --since 2026-03-05 --until 2026-03-07 --only all --rate 200',
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --incident inc_4fTq9Zx7Kq2LmN0p --only all',
  ],
  options: [
    ['--since <time>', 'what was reported from then on: a time, a day, or a span ago such as 2h'],
    ['--until <time>', 'what was reported before then (default: now)'],
    ['--incident <id>', 'one incident instead of a range'],
    ['--event <type...>', 'only these types of events; incident.* = all that begin so'],
    ['--only <what>', 'which of these (default: missed)', replaySelections],
    [
      '--ids <which>',
      'what was delivered comes under a new webhook-id (the default), or the same, which receivers that drop repeats drop',
      replayIds,
    ],
    [
      '--ignore-filters',
      'also what the endpoint does not want now, by its types, stores and filter',
    ],
    ['--rate <rows>', 'deliveries queued a second, at most', wholeNumber(1)],
    ['--dry-run', 'only show what would be sent'],
    yesOption,
    ['--no-wait', 'print the job’s id and leave it at work'],
    ['--json', 'print the preview, or the job, as JSON'],
  ],
  async act(context, options, endpoint) {
    const { since, until, incident: incident_id, event: event_types, only, ids, rate } = options;
    if ((since === undefined) === (incident_id === undefined)) {
      throw usage('Say what to replay: --since 2h, or --incident inc_…');
    }
    if (!options.dryRun && !options.yes) assertCanAsk(context, 'Replay');
    const nowMillis = context.io.now();
    const body = {
      since: readTime('--since', since, { nowMillis, edge: 'first' }),
      until: readTime('--until', until, { nowMillis, edge: 'last' }),
      incident_id,
      event_types,
      only,
      ids,
      rate,
      filters: options.ignoreFilters && ('ignore' as const),
    };
    const client = await context.connect();
    await doPreviewed<Preview, Replay, Line>(context, client, options, {
      name: 'replay',
      act: 'Replay',
      refused: 'Nothing was replayed.',
      of: ['delivery', 'deliveries'],
      ask: (isDry) =>
        client.json('POST /webhook/endpoints/:id/replay', {
          params: { id: endpoint },
          body: { ...body, ...(isDry && { dry_run: true }) },
        }),
      columns,
      lines: linesOf,
      tell: (preview) => tellPreview(context, preview),
      tellNothing(preview) {
        noteTable(context, columns, linesOf(preview));
        tellPreview(context, preview);
        context.note('Nothing to replay.');
      },
      question: (preview) => `Send ${howMany(preview)} to ${endpoint}?`,
      route: 'GET /webhook/replays/:id',
      waits: ({ id, state, waits_for_endpoint: isHeld, waits_for_room: isFull, endpoint_id }) => [
        state === 'paused' ? `${id} is paused. Go on: svcctl jobs resume ${id}` : null,
        isHeld ? `The endpoint is disabled. Go on: svcctl endpoints enable ${endpoint_id}` : null,
        isFull ? 'It goes on once less waits for the endpoint: see SVC_TENANT_WAITING.' : null,
      ],
      look: ({ id }) => `Look: svcctl jobs show ${id} · stop it: svcctl jobs cancel ${id}`,
      tellEnd: (job) => tellEnd(context, job),
    });
  },
});

/** Prints how a replay ended, and what has become of its deliveries by now. Throws `partly_done` if it was cancelled. */
function tellEnd(context: Context, job: Replay): void {
  const { id, rows_done: done, rows_skipped: skipped, rows_total: total } = job;
  if (job.state === 'cancelled') {
    const count = numberOf(done, 'delivery', 'deliveries');
    throw new AppError('partly_done', {
      detail: `${id} was cancelled after ${total === null ? count : `${formatCount(done)} of ${formatCount(total)}`}. What it had queued stays queued.${job.error === null ? '' : ` ${job.error}.`}`,
    });
  }
  const left =
    skipped === 0 ? '' : ` · ${formatCount(skipped)} left alone, because an attempt was under way`;
  if (job.error !== null) context.note(`${job.error}.`);
  // Of one that took a moment nobody has looked at the deliveries yet.
  const became =
    job.outcome === null
      ? `${formatCount(done)} queued`
      : outcomeText({ ...job, action: 'replay' });
  context.note(`✓ ${became}${left}.`);
  context.hint(`which they are, and what became of them: svcctl deliveries ls --job ${id}`);
}

type Line = { count: number; what: string };
const { count, text } = columnsOf<Line>();
const columns = [count('INCIDENTS', 'count'), text('WHAT', 'what')];

const states = {
  missed: 'never got',
  discarded: 'discarded',
  failed: 'dead letters',
  delivered: 'delivered',
  waiting: 'queued already',
  unwanted: 'that it does not want',
  erased: 'erased',
};

function linesOf(preview: Preview): Line[] {
  return Object.entries(states).flatMap(([state, what]) => {
    const found = preview[state as keyof typeof states];
    return found === 0 ? [] : [{ count: found, what }];
  });
}

function tellPreview(context: Context, preview: Preview): void {
  const { since, until, notes } = preview;
  for (const note of notes) context.note(note);
  context.note(
    `${howMany(preview)} would be sent of what was reported from ${formatInstant(since)} to ${formatInstant(until)}.`,
  );
}

/** The number of deliveries. It may be less where the filter was not asked about all, and more where not all were counted. */
function howMany({ count, filtered_until: filtered, counted_until: counted }: Preview): string {
  const number = numberOf(count, 'delivery', 'deliveries');
  if (filtered !== null && counted !== null) return `about ${number}`;
  if (filtered !== null) return `at most ${number}`;
  return counted === null ? number : `at least ${number}`;
}
