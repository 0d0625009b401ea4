import { type Command, Option } from 'commander';
import type { DatasetRow, Level } from '../../../contract.ts';
import type { Context } from '../../context.ts';
import { formatBytes, formatCount, formatNumberOf, formatShare } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import type { Column } from '../../table.ts';

const levels = ['tenant', 'store', 'month'] as const satisfies readonly Level[];
const fields = [
  'tenant',
  'store',
  'month',
  'count',
  'bytes',
  'coverage',
  'covered',
  'by_dataset',
  'tier',
  'stored_bytes',
  'digest',
  'first_at',
  'last_at',
] as const satisfies readonly (keyof DatasetRow)[];

type Options = {
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
    .action((options: Options) => listDatasets(context, options));
  withExamples(command, [
    'svcctl records ls --tenant TX',
    'svcctl records ls --level tenant --q T',
    'svcctl records ls --month 2026-03 --json tenant,store,count',
  ]);
}

async function listDatasets(context: Context, { json, ...query }: Options): Promise<void> {
  const printer = createRowPrinter<DatasetRow>(context, {
    columns: columnsOf(query.level ?? 'month'),
    fields,
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

/** 42 leaves · 512,991 records · 246 MB · 12 % covered */
function totalsLine(totals: Totals, level: Level): string {
  if (totals.leaves === 0)
    return 'No records yet that match. Store some: svcctl records ingest FILE';
  return [
    formatNumberOf(totals.leaves, ...levelNouns[level]),
    formatNumberOf(totals.count, 'record'),
    formatBytes(totals.bytes),
    `${formatShare(totals.count === 0 ? null : totals.covered / totals.count)} covered`,
  ].join(' · ');
}

function columnsOf(level: Level): Column<DatasetRow>[] {
  const depth = levels.indexOf(level) + 1;
  const names: Column<DatasetRow>[] = [
    { title: 'TENANT', isElastic: true, value: (row) => row.tenant },
    { title: 'STORE', isElastic: true, value: (row) => row.store },
    { title: 'MONTH', value: (row) => row.month },
  ];
  return [
    ...names.slice(0, depth),
    {
      title: 'RECORDS',
      align: 'right',
      value: (row) => row.count,
      shown: (row) => formatCount(row.count),
    },
    {
      title: 'BYTES',
      align: 'right',
      value: (row) => row.bytes,
      shown: (row) => formatBytes(row.bytes),
    },
    {
      title: 'COVERAGE',
      align: 'right',
      value: (row) => row.coverage,
      shown: (row) => formatShare(row.coverage),
    },
    { title: 'TIER', value: (row) => row.tier },
  ];
}
