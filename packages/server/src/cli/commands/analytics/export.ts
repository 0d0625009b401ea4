import { type Command, InvalidArgumentError, Option } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import type { ExportRequest } from '../../export-csv.ts';
import { required, withExamples } from '../../help.ts';
import { checkDays, type Days } from '../../slice.ts';

const csvProfiles = ['machine', 'spreadsheet'];

type Options = Days & {
  tenant?: string;
  store?: string;
  kind?: string;
  dataset?: string;
  columns?: string;
  format: string;
  profile?: string;
  header: boolean;
  out?: string;
  force?: true;
  json?: true;
};

export function addExport(analytics: Command, context: Context): void {
  const command = analytics
    .command('export')
    .summary('export a slice of records to a file')
    .description(
      'Exports the records of a tenant, from one snapshot and in the order of store, time and event. The\nfile appears under its name only when its row count and its SHA-256 are those of the service.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--store <store>', 'only this store')
    .option('--month <month>', 'this month, as 2026-03')
    .option('--from <date>', 'from this day on, as 2026-01-01')
    .option('--to <date>', 'up to this day, inclusive')
    .option('--kind <kind>', 'only of this kind')
    .addOption(
      new Option('--dataset <name>', 'only tagged so').choices(['training', 'fine_tuning']),
    )
    .addOption(
      new Option('--format <format>', 'format of the file')
        .choices(['csv'])
        .argParser(parseFormat)
        .default('csv'),
    )
    .option(
      '--columns <list>',
      'these columns, separated by commas; also paths such as enrichment.origin',
    )
    .addOption(
      new Option(
        '--profile <name>',
        'machine: exact round trip (default); spreadsheet: safe to open in one',
      )
        .choices(csvProfiles)
        .argParser(parseProfile),
    )
    .option('--no-header', 'without the line of column names')
    .option('--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print what was written as JSON; needs --out FILE')
    .action((options: Options) => run(context, options));
  withExamples(command, [
    'svcctl analytics export --tenant TX --from 2026-01-01 --to 2026-03-31 --format csv --out tx-q1.csv',
    'svcctl analytics export --tenant TX --month 2026-03 --store DFW --profile spreadsheet',
    'svcctl analytics export --tenant TX --month 2026-03 --columns event_id,enrichment.score | head',
  ]);
}

async function run(context: Context, options: Options): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  checkDays(options);
  if (options.month === undefined && options.from === undefined) {
    throw new AppError('usage_invalid', { detail: 'Say which days: --month, or --from and --to.' });
  }
  if (options.json && (options.out === undefined || options.out === '-')) {
    throw new AppError('usage_invalid', {
      detail: '--json needs --out FILE: stdout holds one of the two.',
    });
  }
  const { month, from, to, store, kind, dataset, profile } = options;
  const request: ExportRequest = {
    slice: { tenant, store, month, from, to },
    body: {
      kind,
      dataset,
      profile,
      columns: options.columns?.split(',').map((column) => column.trim()),
      header: options.header ? undefined : false,
    },
    hasHeader: options.header,
    out: options.out ?? (context.isTerminal ? null : '-'),
    mayReplace: options.force === true,
    isJson: options.json === true,
  };
  const { exportCsv } = await import('../../export-csv.ts');
  await exportCsv(context, request);
}

function parseFormat(format: string): string {
  if (format === 'csv') return format;
  throw new InvalidArgumentError('csv is the only format yet.');
}

function parseProfile(profile: string): string {
  if (csvProfiles.includes(profile)) return profile;
  throw new InvalidArgumentError(
    'Here it is machine or spreadsheet. The profile to connect with stands first: svcctl --profile NAME analytics export.',
  );
}
