import { type Command, Option } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import { noteEmptySlice } from '../../empty-slice.ts';
import { formatBytes, formatInstant, formatNumberOf } from '../../format.ts';
import { required, wholeNumber, withExamples } from '../../help.ts';
import {
  createRowPrinter,
  type JsonOption,
  jsonFlags,
  jsonHelp,
  printObject,
} from '../../output.ts';
import { walkPages } from '../../pages.ts';
import { shellQuote } from '../../shell-quote.ts';
import { checkDays } from '../../slice.ts';
import type { Column } from '../../table.ts';

const fields = [
  'tenant',
  'store',
  'event_id',
  'occurred_at',
  'recorded_at',
  'kind',
  'source',
  'model',
  'confidence',
  'bytes',
  'enrichment',
] as const;

type RecordRow = {
  store: string;
  event_id: string;
  occurred_at: string;
  kind: string | null;
  source: string | null;
  confidence: number | null;
  bytes: number;
};

/** The API's filters, by the names that are also the options'. */
const filterNames = [
  'tenant',
  'store',
  'month',
  'from',
  'to',
  'kind',
  'source',
  'dataset',
  'order',
] as const;
type Filters = { [K in (typeof filterNames)[number]]?: string };
type Options = Filters & {
  at?: string;
  event?: string;
  limit?: number;
  all?: true;
  cursor?: string;
  json?: JsonOption;
  ndjson?: true;
};

const rowsOnTerminal = 20;

export function addRecordsShow(records: Command, context: Context): void {
  const command = records
    .command('show')
    .summary('show one record, or page through many')
    .description(
      'Shows one record (--store, --at and --event name it), or pages through the records of a tenant in\nthe order of store, time and event. JSON is printed to the letter, as it was stored.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--store <store>', 'the store')
    .option('--at <time>', 'when the one record happened, as its occurred_at says')
    .option('--event <id>', 'the event id of the one record')
    .option('--month <month>', 'only this month, as 2026-03')
    .option('--from <date>', 'from this day on, as 2026-03-05')
    .option('--to <date>', 'up to this day, inclusive')
    .option('--kind <kind>', 'only of this kind')
    .option('--source <source>', 'only from this source')
    .addOption(
      new Option('--dataset <name>', 'only tagged so').choices(['training', 'fine_tuning']),
    )
    .addOption(
      new Option('--order <order>', 'oldest first or newest first').choices(['asc', 'desc']),
    )
    .option(
      '--limit <rows>',
      `rows, at most (default: ${rowsOnTerminal} on a terminal, else all)`,
      wholeNumber(1),
    )
    .addOption(new Option('--all', 'all rows, also on a terminal').conflicts('limit'))
    .option('--cursor <cursor>', 'go on where an earlier page ended')
    .option(jsonFlags, jsonHelp)
    .option('--ndjson', 'print one JSON object a line')
    .action((options: Options) =>
      options.event === undefined && options.at === undefined
        ? showPages(context, options)
        : showOne(context, options),
    );
  withExamples(command, [
    'svcctl records show --tenant TX --store DFW --month 2026-03',
    'svcctl records show --tenant TX --from 2026-03-01 --to 2026-03-07 --ndjson > week.ndjson',
    'svcctl records show --tenant TX --store DFW --at 2026-03-05T14:07:09.123456Z --event fl-0812',
  ]);
}

async function showOne(context: Context, options: Options): Promise<void> {
  const { tenant, store, at, event } = options;
  if (tenant === undefined || store === undefined || at === undefined || event === undefined) {
    throw new AppError('usage_invalid', {
      detail: 'One record is named by --tenant, --store, --at and --event together.',
    });
  }
  const client = await context.connect();
  const query = { tenant, store, occurred_at: at, event_id: event };
  const record = await client.text('GET /enrichment/records/one', { query });
  await printObject(context, record, { json: options.json, fields });
}

async function showPages(context: Context, options: Options): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  checkDays(options);
  const printer = createRowPrinter<RecordRow>(context, {
    columns,
    fields,
    json: options.json,
    isNdjson: options.ndjson === true,
  });
  const client = await context.connect();
  const most = options.limit ?? (context.isTerminal && !options.all ? rowsOnTerminal : Infinity);
  const query = {
    ...Object.fromEntries(filterNames.map((name) => [name, options[name]])),
    cursor: options.cursor,
  };
  let printed = 0;
  let nextCursor: string | null = null;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /enrichment/records',
    query,
    most,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
    nextCursor = page.nextCursor;
  }
  await printer.end();
  if (printed === 0) await noteEmptySlice(context, client, { ...options, tenant });
  else if (nextCursor !== null) context.hint(moreLine(options, printed, nextCursor));
}

/** How to get the next rows, ready to paste. */
function moreLine(options: Options, printed: number, cursor: string): string {
  const words = ['svcctl', 'records', 'show'];
  for (const name of [...filterNames, 'limit'] as const) {
    const value = options[name];
    if (value !== undefined) words.push(`--${name}`, shellQuote(String(value)));
  }
  if (options.ndjson) words.push('--ndjson');
  if (options.json !== undefined) words.push('--json');
  if (typeof options.json === 'string') words.push(shellQuote(options.json));
  words.push('--cursor', shellQuote(cursor));
  return `${formatNumberOf(printed, 'record')} · all: --all · next: ${words.join(' ')}`;
}

const columns: readonly Column<RecordRow>[] = [
  {
    title: 'OCCURRED AT (UTC)',
    value: (row) => row.occurred_at,
    shown: (row) => formatInstant(row.occurred_at),
  },
  { title: 'STORE', isElastic: true, value: (row) => row.store },
  { title: 'EVENT', isElastic: true, value: (row) => row.event_id },
  { title: 'KIND', isElastic: true, value: (row) => row.kind },
  { title: 'SOURCE', isElastic: true, value: (row) => row.source },
  { title: 'CONFIDENCE', align: 'right', value: (row) => row.confidence },
  {
    title: 'BYTES',
    align: 'right',
    value: (row) => row.bytes,
    shown: (row) => formatBytes(row.bytes),
  },
];
