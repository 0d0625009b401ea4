import { InvalidArgumentError } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { outcomeParts, outcomeText, settledText } from '../../webhooks/dead-letters/view.ts';
import { type BulkAction, bulkActions } from '../../webhooks/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { moment, section, whereAny } from '../details.ts';
import { wholeNumber } from '../help.ts';
import { list } from '../list.ts';

export type BulkJob = RouteAnswer<'GET /webhook/dlq/jobs/:id'>;

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

export const job = call('GET /webhook/dlq/jobs/:id', {
  summary: 'show what became of a job of dlq retry --all or dlq purge --all',
  description:
    'Shows a job that dlq retry --all or dlq purge --all has made: what it did, and what became of its rows, each number with the command that lists these rows. It is looked at for 30 days, or SVC_DELIVERY_DAYS if that is less, until all have ended.',
  argument: jobArgument,
  examples: [
    'svcctl dlq job rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq job rty_4fTq9Zx7Kq2LmN0p --json outcome',
  ],
  facts: (found, times) => [
    ['id', found.id],
    ['action', found.action],
    ['state', found.state],
    ['filter', filterText(found)],
    ['done', `${formatCount(found.rows_done)} of ${numberOf(found.rows_total, 'row')}`],
    ...whereAny('left alone', found.rows_skipped === 0 ? null : formatCount(found.rows_skipped)),
    ['asked for', `${moment(found.created_at, times)} by ${found.created_by}`],
    ...whereAny('finished', moment(found.finished_at, times)),
    ...whereAny('settled', moment(found.outcome?.settled_at ?? null, times)),
  ],
  more: (found, _answer, context) => [
    ...section(context, 'OUTCOME', [
      ...outcomeParts(found).map(({ text: told, outcome }) => {
        if (outcome === undefined) return told;
        const only = outcome === null ? '' : ` --outcome ${outcome}`;
        return `${told.padEnd(32)}  svcctl deliveries ls --job ${found.id}${only}`;
      }),
      ...[settledText(found)].filter((told) => told !== ''),
    ]),
  ],
});

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

export const cancel = call('GET /webhook/dlq/jobs/:id', {
  summary: 'end a job of dlq retry --all or dlq purge --all',
  description:
    'Ends a job of dlq retry --all or dlq purge --all for good. What it has done stays so.',
  argument: jobArgument,
  examples: ['svcctl dlq cancel rty_4fTq9Zx7Kq2LmN0p'],
  async read(_context, client, _options, id) {
    await client.json('DELETE /webhook/dlq/jobs/:id', { params: { id } });
    return client.json('GET /webhook/dlq/jobs/:id', { params: { id } });
  },
  done: (id, { state }) =>
    state === 'cancelled' ? `Cancelled ${id}.` : `${id} had ended already: ${state}.`,
});

const did = { retry: 're-armed', purge: 'discarded' } as const;

/**
 * Prints how a job ended. Throws `partly_done` when it was cancelled, or had to leave rows alone that it was to re-arm;
 * `again` is the command that asks for these.
 */
export function tellBulkEnd(context: Context, job: BulkJob, again: string): void {
  const { id, action, state, rows_done: done, rows_skipped: skipped, rows_left: left } = job;
  if (state === 'cancelled') {
    throw new AppError('partly_done', {
      detail: `${id} was cancelled after ${formatCount(done)} of ${numberOf(job.rows_total, 'row')}. What it had ${did[action]} stays so.`,
    });
  }
  if (left > 0) {
    throw new AppError('partly_done', {
      detail: `${id} queued a retry for ${numberOf(done, 'row')}; ${formatCount(left)} were left alone, because their endpoint was disabled meanwhile. Enable it, then ask for the rest: ${again}`,
    });
  }
  const alone = skipped === 0 ? '' : `, ${leftAlone(skipped, action)}`;
  const rows = numberOf(done, 'row');
  if (action === 'purge') context.note(`✓ Discarded ${rows}${alone}.`);
  else {
    const sends = `The drainer sends ${done === 1 ? 'it' : 'them'} when it runs.`;
    context.note(`✓ Retry queued for ${rows}${alone}. ${sends}`);
    context.hint(`What becomes of them: svcctl dlq job ${id}`);
  }
}

const reasons = {
  retry: 'because their endpoint is disabled',
  purge: 'because they were changed meanwhile, or their tenant is under legal hold',
} as const;

/** The deliveries that were skipped: "3 left alone, because their endpoint is disabled". */
export function leftAlone(count: number, action: BulkAction): string {
  return `${formatCount(count)} left alone, ${reasons[action]}`;
}
