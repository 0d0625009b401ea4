import { InvalidArgumentError } from 'commander';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Chosen } from '../../kernel/view.ts';
import { outcomeParts, settledText } from '../../webhooks/dead-letters/view.ts';
import { type BulkAction, bulkActions } from '../../webhooks/values.ts';
import { bulkFilters } from '../../webhooks/view.ts';
import { call, doEach } from '../act.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { moment, section, whereAny } from '../details.ts';
import { usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { createRowPrinter } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { type Given, optionsOf, verb, yesOption } from '../verb.ts';
import type { BulkJob } from '../webhooks/bulk-jobs.ts';
import type { DeliveryRow } from '../webhooks/deliveries.ts';

const idsArgument = ['[id...]', 'ids, as svcctl dlq ls prints them'] as const;

/** The options of what is done to single rows, or with --all to those that a filter finds. */
const bulkOptions = [
  ['--all', 'all rows, or those that the options below leave'],
  ...optionsOf(bulkFilters),
  ['--from <time>', 'only what failed from then on: a time, a day, or a span ago such as 2h'],
  ['--to <time>', 'only what failed up to then'],
  ['--older-than <span>', 'only what failed at least so long ago, such as 12h or 30d', parseSpan],
  ['--rate <rows>', 'rows a second, at most', wholeNumber(1)],
  ['--dry-run', 'only show what would be done'],
  yesOption,
  ['--no-wait', 'print the job’s id and leave it at work'],
] as const;
type AllOptions = Given<typeof bulkOptions> & Chosen<typeof bulkFilters> & { json?: true };

function parseSpan(text: string): string {
  if (/^\d{1,5}[mhd]$/.test(text)) return text;
  throw new InvalidArgumentError('It is no span such as 90m, 12h or 30d.');
}

export const retry = verb({
  summary: 're-arm failed deliveries, by id or all that match',
  description:
    'Queues failed deliveries at once, with a fresh budget of attempts; the drainer sends them when it runs. With --all it is a job of the service: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work.',
  argument: idsArgument,
  examples: [
    'svcctl dlq retry dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq ls --status abandoned --tenant TX | cut -f1 | xargs -r svcctl dlq retry',
    'svcctl dlq retry --all --status abandoned --endpoint ep_4fTq9Zx7Kq2LmN0p --dry-run',
    'svcctl dlq retry --all --status abandoned --from 2h --rate 100 --yes',
  ],
  options: [...bulkOptions, ['--json', 'print the rows, or the job, as JSON']],
  async act(context, options: AllOptions, ids) {
    if (await isForAll(context, 'retry', options, ids)) return;
    await retryEach(context, ids, options);
  },
});

export const purge = verb({
  summary: 'discard failed deliveries for good, by id or all that match',
  description:
    'Discards deliveries that are queued, pending or abandoned: they are never sent. The history keeps them as discarded, without the answers of receivers, and without the payload unless another delivery needs it. With --all it is a job of the service, of what is pending or abandoned: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work.',
  argument: idsArgument,
  examples: [
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE dlv_070t1x2y3Kq2LmN0pAbCdF --yes',
    'svcctl dlq purge --all --status abandoned --older-than 30d --dry-run',
    'svcctl dlq purge --all --status abandoned --tenant TX --type incident. --yes',
  ],
  options: [...bulkOptions, ['--json', 'with --all: print the job as JSON']],
  async act(context, options: AllOptions, ids) {
    if (await isForAll(context, 'purge', options, ids)) return;
    if (options.json) throw usage('--json goes with --all, not with ids.');
    const client = await context.connect();
    await confirm(context, options.yes, {
      question: `Discard ${ids.length === 1 ? ids[0] : numberOf(ids.length, 'delivery', 'deliveries')}? It cannot be undone.`,
      act: 'Discard',
      refused: 'Nothing was discarded.',
    });
    await doEach(context, ids, async (id) => {
      await client.text('DELETE /webhook/dlq/:id', { params: { id } });
      context.note(`Discarded ${id}.`);
    });
  },
});

/** Does it to whatever the filter finds, if --all is given, and returns whether it did. Else the ids are meant. */
async function isForAll(
  context: Context,
  action: BulkAction,
  options: AllOptions,
  ids: readonly string[],
): Promise<boolean> {
  if (ids.length > 0 === (options.all === true)) {
    throw usage(
      `Give ids, or --all with what to ${action}. List them: svcctl dlq ls --status abandoned`,
    );
  }
  if (options.all) {
    const { doAll } = await import('../webhooks/bulk-all.ts');
    await doAll(context, action, options);
    return true;
  }
  refuseFilters(options);
  return false;
}

/** Retries ids one by one, and prints which were refused. */
async function retryEach(
  context: Context,
  ids: readonly string[],
  { json }: AllOptions,
): Promise<void> {
  const printer = createRowPrinter<DeliveryRow>(context, { columns: [], json });
  const client = await context.connect();
  await doEach(context, ids, async (id) => {
    const text = await client.text('POST /webhook/dlq/:id/retry', { params: { id } });
    if (json) await printer.write([text]);
    else {
      const { target } = parseAnswer(text) as DeliveryRow;
      context.note(`Retry queued for ${id} (${target}). The drainer sends it when it runs.`);
    }
  });
  if (json) await printer.end();
}

/** Refuses filters beside ids, because a filter would seem to narrow the ids down. */
function refuseFilters(options: AllOptions): void {
  const onlyAll = [
    ...(['status', 'tenant', 'endpoint', 'class', 'type', 'from', 'to', 'olderThan'] as const),
    ...(['rate', 'dryRun'] as const),
  ];
  const given = onlyAll.find((name) => options[name] !== undefined);
  const flag = given?.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
  if (flag === undefined) return;
  throw usage(`--${flag} goes with --all, not with ids.`);
}

const jobArgument = ['<job>', 'the job’s id, as svcctl dlq jobs prints it'] as const;

const { word, text, count, ago } = columnsOf<BulkJob>();

const jobColumns = [
  word('ID', 'id'),
  word('STATE', 'state'),
  count('DONE', 'rows_done'),
  count('OF', 'rows_total'),
  count('LEFT ALONE', 'rows_skipped'),
  text('FILTER', filterText),
  text('BY', 'created_by'),
  ago('CREATED', 'created_at'),
];

export const jobs = list('GET /webhook/dlq/jobs', {
  summary: 'list the jobs of dlq retry --all and dlq purge --all',
  description:
    'Lists the jobs that dlq retry --all and dlq purge --all have made, newest first, how far they are, and what became of their rows.',
  examples: ['svcctl dlq jobs', 'svcctl dlq jobs --action purge --json id,state,rows_done'],
  filters: { action: { choices: bulkActions, help: 'only those that do this' } },
  limit: { of: 'jobs', rows: 20 },
  columns: [word('ACTION', 'action'), ...jobColumns, text('OUTCOME', outcomeText)],
  below: {
    none: 'No jobs. Make one: svcctl dlq retry --all --status abandoned',
    one: 'job',
    next: 'what became of it: svcctl dlq job JOB · svcctl dlq pause|resume|cancel JOB',
  },
});

export const retries = list('GET /webhook/dlq/retries', {
  summary: 'list the jobs of dlq retry --all, and how far they are',
  description:
    'Lists the jobs that dlq retry --all has made, newest first, and how far they are. Those of dlq purge --all as well: svcctl dlq jobs',
  examples: [
    'svcctl dlq retries',
    'svcctl dlq retries --limit 1 --json state,rows_done,rows_total',
  ],
  limit: { of: 'jobs', rows: 20 },
  columns: jobColumns,
  below: {
    none: 'No jobs. Make one: svcctl dlq retry --all --status abandoned',
    one: 'job',
    next: 'svcctl dlq pause|resume|cancel rty_…',
  },
});

/** What became of a job: `24 re-armed · 1 failed again · 23 wait for the breaker · still under way`. */
function outcomeText(job: BulkJob): string {
  return [...outcomeParts(job).map((part) => part.text), settledText(job)]
    .filter((part) => part !== '')
    .join(' · ');
}

export const job = call('GET /webhook/dlq/jobs/:id', {
  summary: 'show what became of a job of dlq retry --all or dlq purge --all',
  description:
    'Shows a job that dlq retry --all or dlq purge --all has made: what it did, and what became of its rows, each number with the command that lists these rows. It is looked at for 30 days, until all have ended.',
  argument: jobArgument,
  examples: [
    'svcctl dlq job rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq job rty_4fTq9Zx7Kq2LmN0p --json outcome',
  ],
  facts: (found, now) => [
    ['id', found.id],
    ['action', found.action],
    ['state', found.state],
    ['filter', filterText(found)],
    ['done', `${formatCount(found.rows_done)} of ${numberOf(found.rows_total, 'row')}`],
    ...whereAny('left alone', found.rows_skipped === 0 ? null : formatCount(found.rows_skipped)),
    ['asked for', `${moment(found.created_at, now)} by ${found.created_by}`],
    ...whereAny('finished', moment(found.finished_at, now)),
    ...whereAny('settled', moment(found.outcome?.settled_at ?? null, now)),
  ],
  more: (found, _answer, context) => [
    ...section(context, 'OUTCOME', [
      ...outcomeParts(found).map(({ text: told, outcome }) => {
        if (outcome === undefined) return told;
        const only = outcome === null ? '' : ` --outcome ${outcome}`;
        return `${told.padEnd(32)}  svcctl deliveries ls --job ${found.id}${only}`;
      }),
      ...whereText(settledText(found)),
    ]),
  ],
});

const whereText = (told: string) => (told === '' ? [] : [told]);

function filterText(job: BulkJob): string {
  const { status, tenant, endpoint_id, failure_class, event_type, failed_from, failed_to, rate } =
    job;
  const parts = { status, tenant, endpoint: endpoint_id, class: failure_class, type: event_type };
  const times = { from: failed_from, to: failed_to, rate };
  const given = Object.entries({ ...parts, ...times }).filter(([, value]) => value !== null);
  return given.length === 0 ? 'all' : given.map(([name, value]) => `${name}=${value}`).join(' ');
}

export const pause = call('PATCH /webhook/dlq/jobs/:id', {
  summary: 'hold a job of dlq retry --all or dlq purge --all',
  description:
    'Holds a job of dlq retry --all or dlq purge --all where it is. What it has done stays so.',
  argument: jobArgument,
  examples: ['svcctl dlq pause rty_4fTq9Zx7Kq2LmN0p'],
  body: () => ({ state: 'paused' as const }),
  done(id, { rows_done: done, rows_total: total }) {
    const at = `${formatCount(done)} of ${formatCount(total)}`;
    return `Paused ${id} at ${at}. Go on: svcctl dlq resume ${id}`;
  },
});

export const resume = call('PATCH /webhook/dlq/jobs/:id', {
  summary: 'let a held job go on',
  description:
    'Lets a held job of dlq retry --all or dlq purge --all go on. --rate changes its pace, also of one that runs.',
  argument: jobArgument,
  examples: [
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p --rate 50',
  ],
  options: [['--rate <rows>', 'rows a second, at most; none = as fast as it goes', parseRate]],
  body: ({ rate }) => ({ state: 'running' as const, rate: rate === 'none' ? null : rate }),
  done: (id) => `${id} goes on. Look: svcctl dlq jobs`,
});

/** Reads a rate, or none. */
export function parseRate(text: string): number | 'none' {
  if (text === 'none') return text;
  try {
    return wholeNumber(1)(text);
  } catch {
    throw new InvalidArgumentError('It is neither a whole number from 1 on, nor none.');
  }
}

export const cancel = verb({
  summary: 'end a job of dlq retry --all or dlq purge --all',
  description:
    'Ends a job of dlq retry --all or dlq purge --all for good. What it has done stays so.',
  argument: jobArgument,
  examples: ['svcctl dlq cancel rty_4fTq9Zx7Kq2LmN0p'],
  async act(context, _options, id) {
    const client = await context.connect();
    await client.json('DELETE /webhook/dlq/jobs/:id', { params: { id } });
    const { state } = await client.json('GET /webhook/dlq/jobs/:id', { params: { id } });
    context.note(state === 'cancelled' ? `Cancelled ${id}.` : `${id} had ended already: ${state}.`);
  },
});
