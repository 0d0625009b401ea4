import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type Compression,
  compressions,
  type ExportFormat,
  exportFormats,
  type Profile,
  profiles,
} from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import {
  type DatasetName,
  datasetNames,
  type SplitName,
  splitNames,
} from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import type { DownloadRequest } from '../exports/get-file.ts';
import type { StreamRequest } from '../exports/stream-export.ts';
import { required, withExamples } from '../help.ts';
import { checkDays, type Days } from '../slice.ts';

type Options = Days & {
  tenant?: string;
  store?: string;
  kind?: string;
  dataset?: DatasetName;
  version?: string;
  split?: SplitName;
  columns?: string;
  format: ExportFormat;
  compression?: Compression;
  profile?: Profile;
  header: boolean;
  async?: true;
  wait: boolean;
  out?: string;
  force?: true;
  json?: true;
};

export function addExport(analytics: Command, context: Context): void {
  const command = analytics
    .command('export')
    .summary('export a slice of records to a file')
    .description(
      'Exports the records of a tenant, from one snapshot and in the order of store, time and event. The file appears under its name only when its row count and its SHA-256 are those of the service.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--store <store>', 'only this store')
    .option('--month <month>', 'this month, as 2026-03')
    .option('--from <date>', 'from this day on, as 2026-01-01')
    .option('--to <date>', 'up to this day, inclusive')
    .option('--kind <kind>', 'only of this kind')
    .addOption(new Option('--dataset <name>', 'only tagged so').choices(datasetNames))
    .option('--version <version>', 'the records of this dataset version: its id or its name')
    .addOption(
      new Option('--split <name>', 'only this part of the version; needs --version').choices(
        splitNames,
      ),
    )
    .addOption(
      new Option('--format <format>', 'format of the file').choices(exportFormats).default('csv'),
    )
    .addOption(
      new Option('--compression <name>', 'of the file itself; not for parquet').choices(
        compressions.filter((name) => name !== 'none'),
      ),
    )
    .option(
      '--columns <list>',
      'these columns, separated by commas; also paths such as enrichment.origin',
    )
    .addOption(
      new Option(
        '--profile <name>',
        'of CSV. machine: exact round trip (default); spreadsheet: safe to open in one',
      )
        .choices(profiles)
        .argParser(parseProfile),
    )
    .option('--no-header', 'CSV without the line of column names')
    .option(
      '--async',
      'as a job of the service: survives restarts, and the download goes on where it broke off',
    )
    .option('--no-wait', 'with --async: print the job’s id and leave it at work')
    .option('--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print what was written as JSON; needs --out FILE')
    .action((options: Options) => run(context, options));
  withExamples(command, [
    'svcctl analytics export --tenant TX --from 2026-01-01 --to 2026-03-31 --format csv --out tx-q1.csv',
    'svcctl analytics export --tenant TX --month 2026-03 --store DFW --profile spreadsheet',
    'svcctl analytics export --tenant TX --month 2026-03 --columns event_id,enrichment.score | head',
    'svcctl analytics export --tenant TX --version 2026-q1 --split train --format parquet --out train.parquet',
    'svcctl analytics export --tenant TX --month 2026-03 --format ndjson --compression gzip --async --out tx.ndjson.gz',
  ]);
}

async function run(context: Context, options: Options): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  check(options);
  const client = await context.connect();
  const request = await requestOf(context, client, { ...options, tenant });
  if (options.profile === 'spreadsheet') {
    const { noteCuts } = await import('../exports/note-cuts.ts');
    await noteCuts(context, client, request);
  }
  if (options.async) {
    await exportAsJob(context, client, { request, waits: options.wait });
    return;
  }
  const { streamExport } = await import('../exports/stream-export.ts');
  await streamExport(context, client, request);
}

/** Throws `usage_invalid` for options that contradict each other, before anything is asked. */
function check(options: Options): void {
  checkDays(options);
  const { version, month, from, format, async, wait } = options;
  if (version === undefined && month === undefined && from === undefined) {
    throw usage('Say which days: --month, or --from and --to; or which --version.');
  }
  if (version === undefined && options.split !== undefined) throw usage('--split needs --version.');
  const narrowed = (['store', 'month', 'from', 'kind', 'dataset'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (version !== undefined && narrowed !== undefined) {
    throw usage(`--version stands for its own records. Leave out --${narrowed}.`);
  }
  if (format !== 'csv' && (options.profile !== undefined || !options.header)) {
    throw usage('--profile and --no-header are for --format csv.');
  }
  if (format === 'parquet' && options.compression !== undefined) {
    throw usage('Parquet is compressed inside. Leave out --compression.');
  }
  if (!wait && !async) throw usage('--no-wait needs --async.');
  if (!wait && (options.out !== undefined || options.force)) {
    throw usage('With --no-wait no file is written. Leave out --out, and get the file later.');
  }
  if (options.json && wait && (options.out === undefined || options.out === '-')) {
    throw usage('--json needs --out FILE: stdout holds one of the two.');
  }
}

/** What to export, from the options. A version that is named is looked up in the service. */
async function requestOf(
  context: Context,
  client: Client,
  options: Options & { tenant: string },
): Promise<StreamRequest> {
  const { tenant, store, month, from, to, kind, dataset, profile, split } = options;
  const version = await versionOf(context, client, options);
  const body = {
    kind,
    dataset,
    profile,
    version: version?.id,
    split,
    columns: options.columns?.split(',').map((column) => column.trim()),
    compression: options.compression,
    header: options.header ? undefined : false,
  };
  return {
    slice: { tenant, store, month, from, to },
    format: options.format,
    compression: options.compression ?? 'none',
    versionRows: version?.rows ?? null,
    body,
    hasHeader: options.header,
    out: options.out ?? (context.isTerminal ? null : '-'),
    mayReplace: options.force === true,
    isJson: options.json === true,
  };
}

async function versionOf(
  context: Context,
  client: Client,
  { version: word, tenant, split }: Options & { tenant: string },
): Promise<{ id: string; rows: number | null } | null> {
  if (word === undefined) return null;
  const { findVersion, versionRows } = await import('../dataset-versions.ts');
  const version = await findVersion(context, client, { word, tenant });
  return { id: version.id, rows: versionRows(version, split) };
}

/**
 * Lets a job make the file. With `waits` it follows the job and downloads the file, otherwise it prints the id of the
 * job.
 */
async function exportAsJob(
  context: Context,
  client: Client,
  { request, waits }: { request: StreamRequest; waits: boolean },
): Promise<void> {
  const [{ askedOf, startExport, followExport, goesOnText }, { checkNames, getFile }] =
    await Promise.all([import('../exports/jobs.ts'), import('../exports/get-file.ts')]);
  const { out, mayReplace, isJson } = request;
  const file: DownloadRequest = { out, mayReplace, isJson, manifest: null };
  if (waits) await checkNames(context, file);
  const started = await startExport(client, request.format, { ...request.slice, ...request.body });
  if (!waits) {
    await context.out.write(`${isJson ? JSON.stringify(started) : started.id}\n`);
    context.hint(goesOnText(started.id));
    if (started.rows_total === 0) await noteEmptySlice(context, client, askedOf(started));
    return;
  }
  const job = await followExport(context, client, started);
  await getFile(context, client, { job, request: file });
}

function usage(detail: string): AppError {
  return new AppError('usage_invalid', { detail });
}

function parseProfile(name: string): Profile {
  const profile = profiles.find((known) => known === name);
  if (profile !== undefined) return profile;
  throw new InvalidArgumentError(
    'Here it is machine or spreadsheet. The profile to connect with stands first: svcctl --profile NAME analytics export.',
  );
}
