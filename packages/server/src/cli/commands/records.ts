import type { DatasetRow } from '../../contract.ts';
import { numberOf } from '../../kernel/values.ts';
import { type Level, levels, orders } from '../../records/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import { formatBytes, formatShare, shellQuote } from '../format.ts';
import { spanMillis, usage, wholeNumber } from '../help.ts';
import { allOption, list, moreText, printPages } from '../list.ts';
import { createRowPrinter, printObject } from '../output.ts';
import { checkDays, datasetOption, sliceOptions } from '../slice.ts';
import type { Column } from '../table.ts';
import { type Given, jsonOption, tenantOption, type Verbs, verb } from '../verb.ts';
import { count } from './records-count.ts';
import { erase } from './records-erase.ts';
import { fields } from './records-fields.ts';
import { importFiles } from './records-import.ts';
import { ingest } from './records-ingest.ts';
import { lint } from './records-lint.ts';
import { recount } from './records-recount.ts';
import { tags } from './tags.ts';
import { versions } from './versions.ts';

const levelNouns: Record<Level, [string, string]> = {
  tenant: ['tenant', 'tenants'],
  store: ['store', 'stores'],
  month: ['leaf', 'leaves'],
};

const ls = list('GET /enrichment/datasets', {
  summary: 'list the datasets: records by tenant, store and month',
  description:
    'Lists the datasets, as the tree of the console shows them: records by tenant, store and month.',
  examples: [
    'svcctl records ls --tenant TX',
    'svcctl records ls --level tenant --q T',
    'svcctl records ls --month 2026-03 --json tenant,store,count',
  ],
  filters: {
    tenant: { help: 'only this tenant' },
    store: { help: 'only this store' },
    month: { help: 'only this month, as 2026-03' },
    level: { help: 'what a row is (default: month)', choices: levels },
    q: { value: 'prefix', help: 'only names at that level that begin so' },
  },
  limit: { rows: 200, onPipe: Number.POSITIVE_INFINITY },
  columns: ({ level }: { level?: Level }) => datasetColumns(level ?? 'month'),
  sums: ['count', 'bytes', 'covered'],
  /** `42 leaves · 512,991 records · 246 MB · 12 % covered`. */
  below({ printed, hasMore, sums }, { level = 'month' }) {
    const { count = 0, bytes = 0, covered = 0 } = sums;
    if (printed === 0) return 'No records yet that match. Store some: svcctl records ingest FILE';
    return [
      `${hasMore ? 'the first ' : ''}${numberOf(printed, ...levelNouns[level])}`,
      numberOf(count, 'record'),
      formatBytes(bytes),
      `${formatShare(count === 0 ? null : covered / count)} covered`,
      ...(hasMore ? [moreText] : []),
    ].join(' · ');
  },
});

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

type RecordRow = RouteAnswer<'GET /enrichment/records'>['data'][number];

const record = columnsOf<RecordRow>();

const columns = [
  record.instant('OCCURRED AT (UTC)', 'occurred_at'),
  record.text('STORE', 'store'),
  record.text('EVENT', 'event_id'),
  record.text('KIND', 'kind'),
  record.text('SOURCE', 'source'),
  record.count('CONFIDENCE', 'confidence', { shown: (row) => String(row.confidence ?? '–') }),
  record.bytes('BYTES', 'bytes'),
];

/** The filters of the API. The options have the same names. */
const sliceNames = ['tenant', 'store', 'month', 'from', 'to', 'kind', 'source', 'where'] as const;
const filterNames = [...sliceNames, 'dataset', 'order', 'start'] as const;
const route = 'GET /enrichment/records' as const;
const rowsOnTerminal = 20;
const ndjsonOption = ['--ndjson', 'print one JSON object a line'] as const;

const showOptions = [
  ...sliceOptions,
  ['--at <time>', 'when the one record happened, as its occurred_at says'],
  ['--event <id>', 'the event id of the one record'],
  datasetOption,
  ['--order <order>', 'asc, desc: store by store; newest, oldest: by time over all stores', orders],
  ['--start <time>', 'begin at this time in a store or by time, or with the last page: last'],
  [
    '--limit <rows>',
    `rows, at most (default: ${rowsOnTerminal} on a terminal, else all)`,
    wholeNumber(1),
  ],
  allOption,
  ['--cursor <cursor>', 'go on where an earlier page ended'],
  jsonOption,
  ndjsonOption,
] as const;
type ShowOptions = Given<typeof showOptions>;

const show = verb({
  summary: 'show one record, or page through many',
  description:
    'Shows one record (--store, --at and --event name it), or pages through the records of a tenant in the order of store, time and event, or by time over all stores (--order newest or oldest). JSON is printed to the letter, as it was stored.',
  examples: [
    'svcctl records show --tenant TX --store DFW --month 2026-03',
    'svcctl records show --tenant TX --from 2026-03-01 --to 2026-03-07 --ndjson > week.ndjson',
    'svcctl records show --tenant TX --order newest',
    `svcctl records show --tenant TX --where 'score >= 0.9 and model = "v3"'`,
    'svcctl records show --tenant TX --store DFW --at 2026-03-05T14:07:09.123456Z --event fl-0812',
  ],
  options: showOptions,
  answers: `${route} data`,
  act: (context, options) =>
    options.event === undefined && options.at === undefined
      ? showPages(context, options)
      : showOne(context, options),
});

/** Prints one record, which takes all four options that identify it. */
async function showOne(context: Context, options: ShowOptions): Promise<void> {
  const { tenant, store, at, event } = options;
  if (tenant === undefined || store === undefined || at === undefined || event === undefined) {
    throw usage('One record is named by --tenant, --store, --at and --event together.');
  }
  const client = await context.connect();
  const query = { tenant, store, occurred_at: at, event_id: event };
  const record = await client.text('GET /enrichment/records/one', { query });
  await printObject(context, record, options.json);
}

async function showPages(context: Context, options: ShowOptions): Promise<void> {
  checkDays(options);
  const most = options.limit ?? (context.isTerminal && !options.all ? rowsOnTerminal : Infinity);
  const { json, ndjson, cursor } = options;
  const filters = Object.fromEntries(filterNames.map((name) => [name, options[name]]));
  const walk = { route, query: { ...filters, cursor }, most };
  const { client, printed, nextCursor } = await printPages(context, walk, {
    columns,
    json,
    ndjson,
  });
  if (printed === 0) await noteEmptySlice(context, client, options);
  else if (nextCursor !== null) context.hint(moreLine(options, printed, nextCursor));
}

const find = verb({
  summary: 'find the records of an event by its id',
  description:
    'Finds the records with an event id, in whatever tenant, store and month they are. Hot records have an index of their event ids, and segments say which events they may hold, so no tenant is needed.',
  argument: ['<event-id>', 'the event id, as it was sent'],
  examples: [
    'svcctl records find fl-0812',
    'svcctl records find fl-0812 --tenant TX --json tenant,store,occurred_at',
  ],
  options: [tenantOption, jsonOption, ndjsonOption],
  answers: `${route} data`,
  async act(context, { tenant, json, ndjson }, eventId) {
    const walk = { route, query: { tenant, event_id: eventId } };
    const shown = [record.text('TENANT', 'tenant'), ...columns];
    const { printed } = await printPages(context, walk, { columns: shown, json, ndjson });
    if (printed === 0) context.hint('No record has this event id, as far as this token reaches.');
  },
});

const tail = verb({
  summary: 'follow records as they are stored',
  description:
    'Prints the records of a tenant as they are stored, in the order of their commits, until Ctrl-C. When the service was away it goes on where it was: no record is missing then, and none comes twice. What was stored within the last 24 hours can be told.',
  examples: [
    'svcctl records tail --tenant TX',
    'svcctl records tail --tenant TX --store DFW --since 10m --ndjson | jq .event_id',
    `svcctl records tail --tenant TX --where 'score >= 0.9 and not exists(label)'`,
    'svcctl records tail --tenant TX --since 2026-03-05T14:00:00Z --no-follow --json event_id',
  ],
  options: [
    ...sliceOptions,
    ['--event <id>', 'only of this event'],
    ['--since <time>', 'begin so long ago, as 90s, 10m, 6h or 1d, or at a time'],
    ['--after <cursor>', 'go on where an earlier tail ended'],
    ['--no-follow', 'end once all that is stored now was told'],
    jsonOption,
    ndjsonOption,
  ],
  answers: `${route} data`,
  async act(context, options) {
    checkDays(options);
    if (options.since !== undefined && options.after !== undefined) {
      throw usage('Give either --since or --after.');
    }
    const { event, since, after, follow, json, ndjson, ...slice } = options;
    const { tenant } = slice;
    const printer = createRowPrinter<RecordRow>(context, { columns, json, ndjson });
    const client = await context.connect();
    // The service reads what is no span as a time.
    const ago = since === undefined ? null : spanMillis(since, /^(\d{1,6})([smhd])$/);
    const begin = ago === null ? since : new Date(context.io.now() - ago).toISOString();
    const query = { ...slice, event_id: event, since: begin, after, follow };
    if (follow) context.hint(`Following the records of ${tenant}. Ctrl-C ends it.`);
    let printed = 0;
    const { followTail } = await import('../tail.ts');
    const end = await followTail(context, client, {
      query,
      onRows: async (rows) => {
        await printer.write(rows);
        printed += rows.length;
      },
    });
    await printer.end();
    const names = [...sliceNames, 'event', 'after'] as const;
    const words = wordsOf('tail', names, { ...options, after: end });
    context.hint(`${numberOf(printed, 'record')} · go on: ${words.join(' ')}`);
  },
});

/** The command that shows the next rows, ready to be pasted. */
function moreLine(options: ShowOptions, printed: number, cursor: string): string {
  const names = [...filterNames.filter((name) => name !== 'start'), 'limit'] as const;
  const words = wordsOf('show', names, options);
  if (options.ndjson) words.push('--ndjson');
  if (options.json !== undefined) words.push('--json');
  if (typeof options.json === 'string') words.push(shellQuote(options.json));
  words.push('--cursor', shellQuote(cursor));
  return `${numberOf(printed, 'record')} · all: --all · next: ${words.join(' ')}`;
}

/** The words of a command with those of these options that are given. */
function wordsOf<Name extends string>(
  verb: string,
  names: readonly Name[],
  options: { readonly [N in Name]?: string | number | undefined },
): string[] {
  const given = names.flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [`--${name}`, shellQuote(String(value))];
  });
  return ['svcctl', 'records', verb, ...given];
}

export const records: Verbs = {
  ls,
  show,
  count,
  find,
  fields,
  tail,
  ingest,
  lint,
  import: importFiles,
  erase,
  recount,
  tags,
  versions,
};
