import { InvalidArgumentError } from 'commander';
import { numberOf } from '../../kernel/values.ts';
import { type Chosen, paramsOf } from '../../kernel/view.ts';
import { type BulkAction, targetText } from '../../webhooks/values.ts';
import { bulkFilters } from '../../webhooks/view.ts';
import { doEach } from '../act.ts';
import type { RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { shellQuote } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { createRowPrinter } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { readTime } from '../times.ts';
import { type Given, optionsOf, verb, yesOption } from '../verb.ts';
import { type BulkJob, leftAlone, tellBulkEnd } from './bulk-jobs.ts';
import type { DeliveryRow } from './deliveries.ts';
import { doPreviewed } from './previewed-job.ts';

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
type Options = Given<typeof bulkOptions> & Chosen<typeof bulkFilters> & { json?: true };

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
  async act(context, options: Options, ids) {
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
    'svcctl dlq purge --all --status abandoned --tenant TX --type "incident.*" --yes',
  ],
  options: [...bulkOptions, ['--json', 'with --all: print the job as JSON']],
  async act(context, options: Options, ids) {
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
  options: Options,
  ids: readonly string[],
): Promise<boolean> {
  if (ids.length > 0 === (options.all === true)) {
    throw usage(
      `Give ids, or --all with what to ${action}. List them: svcctl dlq ls --status abandoned`,
    );
  }
  if (options.all) await doAll(context, action, options);
  else refuseFilters(options);
  return options.all === true;
}

/** Retries ids one by one, and prints which were refused. */
async function retryEach(
  context: Context,
  ids: readonly string[],
  { json }: Options,
): Promise<void> {
  const printer = createRowPrinter<DeliveryRow>(context, { columns: [], json });
  const client = await context.connect();
  await doEach(context, ids, async (id) => {
    const text = await client.text('POST /webhook/dlq/:id/retry', { params: { id } });
    if (json) await printer.write([text]);
    else {
      const { target } = parseAnswer(text) as DeliveryRow;
      context.note(
        `Retry queued for ${id} (${targetText(target)}). The drainer sends it when it runs.`,
      );
    }
  });
  if (json) await printer.end();
}

/** Refuses filters beside ids, because a filter would seem to narrow the ids down. */
function refuseFilters(options: Options): void {
  const onlyAll = [
    ...(['status', 'tenant', 'endpoint', 'class', 'type', 'from', 'to', 'olderThan'] as const),
    ...(['rate', 'dryRun'] as const),
  ];
  const given = onlyAll.find((name) => options[name] !== undefined);
  const flag = given?.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
  if (flag === undefined) return;
  throw usage(`--${flag} goes with --all, not with ids.`);
}

type Request = RouteInput<'POST /webhook/dlq/retry'>['body'];
type Preview = Extract<RouteAnswer<'POST /webhook/dlq/retry'>, { groups: unknown }>;
type Group = Preview['groups'][number];

const words = {
  retry: { act: 'Retry', done: 'retried', note: '' },
  purge: { act: 'Discard', done: 'discarded', note: ' It cannot be undone.' },
} as const;

/** Retries or purges all deliveries that a filter finds: shows which, asks, and follows the job that does it. */
async function doAll(context: Context, action: BulkAction, options: Options): Promise<void> {
  const { act, done, note } = words[action];
  if (!options.dryRun && !options.yes) assertCanAsk(context, act);
  const nowMillis = context.io.now();
  if (options.to !== undefined && options.olderThan !== undefined) {
    throw usage('--older-than says until when, and so does --to. Give one of them.');
  }
  const filter: Request = {
    ...paramsOf(bulkFilters, options),
    failed_from: readTime('--from', options.from, { nowMillis, edge: 'first' }),
    failed_to: readTime('--to', options.to, { nowMillis, edge: 'last' }),
    older_than: options.olderThan,
  };
  const client = await context.connect();
  const again = commandOf(action, options);
  await doPreviewed<Preview, BulkJob, Group>(context, client, options, {
    name: action,
    act,
    refused: `Nothing was ${done}.`,
    of: ['row'],
    ask: (isDry) =>
      client.json(`POST /webhook/dlq/${action}`, {
        body: { ...filter, ...(isDry ? { dry_run: true } : { rate: options.rate }) },
      }),
    columns: groupColumns,
    lines: ({ groups }) => groups,
    tell(preview, isDry) {
      const left = preview.skipped === 0 ? '' : `; ${leftAlone(preview.skipped, action)}`;
      const summary = `${numberOf(preview.count, 'row')} would be ${done}${left}`;
      if (isDry) context.hint(`${summary} · do it: ${again}`);
      else context.note(`${summary}.`);
    },
    tellNothing({ skipped }) {
      const left = skipped === 0 ? '' : `; ${leftAlone(skipped, action)}`;
      context.note(`Nothing to ${act.toLowerCase()}${left}.`);
    },
    question: ({ count }) => `${act} ${numberOf(count, 'row')}?${note}`,
    route: 'GET /webhook/dlq/jobs/:id',
    waits: ({ id, state, waits_for_endpoint: isHeld, endpoint_id: endpoint }) => [
      state === 'paused' ? `${id} is paused. Go on: svcctl dlq resume ${id}` : null,
      isHeld
        ? `${id} waits: its endpoint is disabled. Go on: svcctl endpoints enable ${endpoint}`
        : null,
    ],
    look: ({ id }) => `Look: svcctl dlq jobs · stop it: svcctl dlq cancel ${id}`,
    tellEnd: (job) => tellBulkEnd(context, job, again),
  });
}

/** The same command as one that can be pasted. */
function commandOf(action: BulkAction, options: Options): string {
  const { from, to, olderThan } = options;
  const times = Object.entries({ from, to, 'older-than': olderThan }).map(([name, value]) =>
    value === undefined ? '' : ` --${name} ${value}`,
  );
  return `svcctl dlq ${action} --all${filterWords(options)}${times.join('')}`;
}

/** The same filter as words of a command line that can be pasted. */
export function filterWords(options: Chosen<typeof bulkFilters>): string {
  return (['status', 'tenant', 'endpoint', 'class', 'type'] as const)
    .flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [` --${name} ${shellQuote(value)}`];
    })
    .join('');
}

const { word, count, target } = columnsOf<Group>();
const groupColumns = [
  count('ROWS', 'count'),
  word('CLASS', 'failure_class'),
  word('ENDPOINT', 'endpoint_id'),
  target('TARGET', 'target'),
];
