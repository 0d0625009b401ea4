import { type Command, Option } from 'commander';
import type { DatasetRow } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { datasetNames, type Level, levels, orders } from '../../records/values.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import { fieldsOf } from '../fields.ts';
import { formatBytes, formatShare, shellQuote } from '../format.ts';
import { required, wholeNumber, withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp, printObject } from '../output.ts';
import { walkPages } from '../pages.ts';
import { checkDays } from '../slice.ts';
import type { Column } from '../table.ts';

type LsOptions = {
  tenant?: string;
  store?: string;
  month?: string;
  level?: Level;
  q?: string;
  json?: JsonOption;
};

export function addRecordsLs(records: Command, context: Context): void {
  const command = records
    .command('ls')
    .summary('list the datasets: records by tenant, store and month')
    .description(
      'Lists the datasets, as the tree of the console shows them: records by tenant, store and month.',
    )
    .option('--tenant <tenant>', 'only this tenant')
    .option('--store <store>', 'only this store')
    .option('--month <month>', 'only this month, as 2026-03')
    .addOption(new Option('--level <level>', 'what a row is (default: month)').choices(levels))
    .option('--q <prefix>', 'only names at that level that begin so')
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listDatasets(context, options));
  withExamples(command, [
    'svcctl records ls --tenant TX',
    'svcctl records ls --level tenant --q T',
    'svcctl records ls --month 2026-03 --json tenant,store,count',
  ]);
}

async function listDatasets(context: Context, { json, ...query }: LsOptions): Promise<void> {
  const printer = createRowPrinter<DatasetRow>(context, {
    columns: datasetColumns(query.level ?? 'month'),
    fields: await fieldsOf(json, 'GET /enrichment/datasets'),
    json,
  });
  const client = await context.connect();
  const totals = { leaves: 0, count: 0, bytes: 0, covered: 0 };
  for await (const page of walkPages(context.io, client, {
    route: 'GET /enrichment/datasets',
    query: query,
  })) {
    await printer.write(page.rows);
    if (json !== undefined || !context.isTerminal) continue;
    for (const row of page.rows) {
      const { count, bytes, covered } = JSON.parse(row) as DatasetRow;
      totals.leaves += 1;
      totals.count += count;
      totals.bytes += bytes;
      totals.covered += covered;
    }
  }
  await printer.end();
  if (json === undefined && context.isTerminal)
    context.hint(totalsLine(totals, query.level ?? 'month'));
}

type Totals = { leaves: number; count: number; bytes: number; covered: number };

const levelNouns: Record<Level, [string, string]> = {
  tenant: ['tenant', 'tenants'],
  store: ['store', 'stores'],
  month: ['leaf', 'leaves'],
};

/** The line below the table: `42 leaves · 512,991 records · 246 MB · 12 % covered`. */
function totalsLine(totals: Totals, level: Level): string {
  if (totals.leaves === 0)
    return 'No records yet that match. Store some: svcctl records ingest FILE';
  return [
    numberOf(totals.leaves, ...levelNouns[level]),
    numberOf(totals.count, 'record'),
    formatBytes(totals.bytes),
    `${formatShare(totals.count === 0 ? null : totals.covered / totals.count)} covered`,
  ].join(' · ');
}

function datasetColumns(level: Level): Column<DatasetRow>[] {
  const { word, text, count, bytes } = columnsOf<DatasetRow>();
  const names = [text('TENANT', 'tenant'), text('STORE', 'store'), word('MONTH', 'month')];
  return [
    ...names.slice(0, levels.indexOf(level) + 1),
    count('RECORDS', 'count'),
    bytes('BYTES', 'bytes'),
    count('COVERAGE', 'coverage', { shown: (row) => formatShare(row.coverage) }),
    word('TIER', 'tier'),
  ];
}

type RecordRow = {
  store: string;
  event_id: string;
  occurred_at: string;
  kind: string | null;
  source: string | null;
  confidence: number | null;
  bytes: number;
};

/** The filters of the API. The options have the same names. */
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
type ShowOptions = Filters & {
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
      'Shows one record (--store, --at and --event name it), or pages through the records of a tenant in the order of store, time and event. JSON is printed to the letter, as it was stored.',
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
    .addOption(new Option('--dataset <name>', 'only tagged so').choices(datasetNames))
    .addOption(new Option('--order <order>', 'oldest first or newest first').choices(orders))
    .option(
      '--limit <rows>',
      `rows, at most (default: ${rowsOnTerminal} on a terminal, else all)`,
      wholeNumber(1),
    )
    .addOption(new Option('--all', 'all rows, also on a terminal').conflicts('limit'))
    .option('--cursor <cursor>', 'go on where an earlier page ended')
    .option(jsonFlags, jsonHelp)
    .option('--ndjson', 'print one JSON object a line')
    .action((options: ShowOptions) =>
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

/** Prints one record, which takes all four options that identify it. */
async function showOne(context: Context, options: ShowOptions): Promise<void> {
  const { tenant, store, at, event } = options;
  if (tenant === undefined || store === undefined || at === undefined || event === undefined) {
    throw new AppError('usage_invalid', {
      detail: 'One record is named by --tenant, --store, --at and --event together.',
    });
  }
  const fields = await fieldsOf(options.json, 'GET /enrichment/records/one');
  const client = await context.connect();
  const query = { tenant, store, occurred_at: at, event_id: event };
  const record = await client.text('GET /enrichment/records/one', { query });
  await printObject(context, record, { json: options.json, fields });
}

async function showPages(context: Context, options: ShowOptions): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  checkDays(options);
  const printer = createRowPrinter<RecordRow>(context, {
    columns,
    fields: await fieldsOf(options.json, 'GET /enrichment/records'),
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

/** The command that shows the next rows, ready to be pasted. */
function moreLine(options: ShowOptions, printed: number, cursor: string): string {
  const words = ['svcctl', 'records', 'show'];
  for (const name of [...filterNames, 'limit'] as const) {
    const value = options[name];
    if (value !== undefined) words.push(`--${name}`, shellQuote(String(value)));
  }
  if (options.ndjson) words.push('--ndjson');
  if (options.json !== undefined) words.push('--json');
  if (typeof options.json === 'string') words.push(shellQuote(options.json));
  words.push('--cursor', shellQuote(cursor));
  return `${numberOf(printed, 'record')} · all: --all · next: ${words.join(' ')}`;
}

const { text, count, bytes, instant } = columnsOf<RecordRow>();

const columns = [
  instant('OCCURRED AT (UTC)', 'occurred_at'),
  text('STORE', 'store'),
  text('EVENT', 'event_id'),
  text('KIND', 'kind'),
  text('SOURCE', 'source'),
  count('CONFIDENCE', 'confidence', { shown: (row) => String(row.confidence ?? '–') }),
  bytes('BYTES', 'bytes'),
];
