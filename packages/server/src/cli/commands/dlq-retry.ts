import { InvalidArgumentError } from 'commander';
import { formatCount } from '../../kernel/values.ts';
import { deadLetterFilters } from '../../webhooks/view.ts';
import { act, doEach } from '../act.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { createRowPrinter } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { optionsOf, type Verb, yesOption } from '../verb.ts';
import type { DeliveryRow } from '../webhooks/deliveries.ts';
import type { RetryAllOptions } from '../webhooks/retry-all.ts';
import type { RetryJob } from '../webhooks/retry-jobs.ts';

type RetryOptions = RetryAllOptions & { all?: true };

export const retry: Verb = {
  summary: 're-arm failed deliveries, by id or all that match',
  description:
    'Queues failed deliveries at once, with a fresh budget of attempts; the drainer sends them when it runs. With --all it is a job of the service: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work.',
  argument: ['[id...]', 'ids, as svcctl dlq ls prints them'],
  examples: [
    'svcctl dlq retry dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq ls --status abandoned --tenant TX | cut -f1 | xargs -r svcctl dlq retry',
    'svcctl dlq retry --all --status abandoned --endpoint ep_4fTq9Zx7Kq2LmN0p --dry-run',
    'svcctl dlq retry --all --status abandoned --from 2h --rate 100 --yes',
  ],
  options: [
    ['--all', 'all rows, or those that the options below leave'],
    ...optionsOf({
      ...deadLetterFilters,
      status: {
        ...deadLetterFilters.status,
        help: 'with --all: only pending or only abandoned ones (default: both)',
      },
    }),
    ['--from <time>', 'only what failed from then on: a time, a day, or a span ago such as 2h'],
    ['--to <time>', 'only what failed up to then'],
    ['--rate <rows>', 'rows re-armed a second, at most', wholeNumber(1)],
    ['--dry-run', 'only show what would be re-armed'],
    yesOption,
    ['--no-wait', 'print the job’s id and leave it at work'],
    ['--json', 'print the rows, or the job, as JSON'],
  ],
  act: retryIdsOrAll,
};

/** Retries either the given ids, or with --all whatever the filter finds. */
async function retryIdsOrAll(
  context: Context,
  options: RetryOptions,
  ids: readonly string[],
): Promise<void> {
  if (ids.length > 0 === (options.all === true)) {
    throw usage(
      'Give ids, or --all with what to retry. List them: svcctl dlq ls --status abandoned',
    );
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
function refuseFilters(options: RetryOptions): void {
  const onlyAll = ['status', 'tenant', 'endpoint', 'class', 'from', 'to', 'rate'] as const;
  const given = onlyAll.find((name) => options[name] !== undefined);
  const flag = given ?? (options.dryRun ? 'dry-run' : undefined);
  if (flag === undefined) return;
  throw usage(`--${flag} goes with --all, not with ids.`);
}

const { word, text, count, ago } = columnsOf<RetryJob>();

export const retries = list('GET /webhook/dlq/retries', {
  summary: 'list the jobs of dlq retry --all, and how far they are',
  description: 'Lists the jobs that dlq retry --all has made, newest first, and how far they are.',
  examples: [
    'svcctl dlq retries',
    'svcctl dlq retries --limit 1 --json state,rows_done,rows_total',
  ],
  limit: { of: 'jobs', rows: 20 },
  columns: [
    word('ID', 'id'),
    word('STATE', 'state'),
    count('DONE', 'rows_done'),
    count('OF', 'rows_total'),
    count('LEFT ALONE', 'rows_skipped'),
    text('FILTER', filterText),
    text('BY', 'created_by'),
    ago('CREATED', 'created_at'),
  ],
  below: {
    none: 'No jobs. Make one: svcctl dlq retry --all --status abandoned',
    one: 'job',
    next: 'svcctl dlq pause|resume|cancel rty_…',
  },
});

function filterText(job: RetryJob): string {
  const { status, tenant, endpoint_id, failure_class, failed_from, failed_to, rate } = job;
  const parts = { status, tenant, endpoint: endpoint_id, class: failure_class };
  const times = { from: failed_from, to: failed_to, rate };
  const given = Object.entries({ ...parts, ...times }).filter(([, value]) => value !== null);
  return given.length === 0 ? 'all' : given.map(([name, value]) => `${name}=${value}`).join(' ');
}

const job = ['<job>', 'the job’s id, as svcctl dlq retries prints it'] as const;

export const pause = act('PATCH /webhook/dlq/retries/:id', {
  summary: 'hold a job of dlq retry --all',
  description: 'Holds a job of dlq retry --all where it is. What it has re-armed stays so.',
  argument: job,
  examples: ['svcctl dlq pause rty_4fTq9Zx7Kq2LmN0p'],
  body: () => ({ state: 'paused' as const }),
  done(id, { rows_done: done, rows_total: total }) {
    const at = `${formatCount(done)} of ${formatCount(total)}`;
    return `Paused ${id} at ${at}. Go on: svcctl dlq resume ${id}`;
  },
});

export const resume = act('PATCH /webhook/dlq/retries/:id', {
  summary: 'let a held job go on',
  description:
    'Lets a held job of dlq retry --all go on. --rate changes its pace, also of one that runs.',
  argument: job,
  examples: [
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p --rate 50',
  ],
  options: [
    ['--rate <rows>', 'rows re-armed a second, at most; none = as fast as it goes', parseRate],
  ],
  body: ({ rate }: { rate?: number | 'none' }) => ({
    state: 'running' as const,
    rate: rate === 'none' ? null : rate,
  }),
  done: (id) => `${id} goes on. Look: svcctl dlq retries`,
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

export const cancel: Verb = {
  summary: 'end a job of dlq retry --all',
  description: 'Ends a job of dlq retry --all for good. What it has re-armed stays so.',
  argument: job,
  examples: ['svcctl dlq cancel rty_4fTq9Zx7Kq2LmN0p'],
  async act(context: Context, _options: object, id: string) {
    const client = await context.connect();
    await client.json('DELETE /webhook/dlq/retries/:id', { params: { id } });
    const { state } = await client.json('GET /webhook/dlq/retries/:id', { params: { id } });
    context.note(state === 'cancelled' ? `Cancelled ${id}.` : `${id} had ended already: ${state}.`);
  },
};
