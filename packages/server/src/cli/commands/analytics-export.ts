import { InvalidArgumentError, Option } from 'commander';
import {
  compressions,
  cutBySheet,
  type ExportFormat,
  exportFormats,
  missingRules,
  type Profile,
  profiles,
} from '../../exports/values.ts';
import { numberOf } from '../../kernel/values.ts';
import { splitNames } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import type { DownloadRequest } from '../exports/download.ts';
import type { StreamRequest } from '../exports/stream-export.ts';
import { templateOf, templateWords } from '../exports/template.ts';
import { usage } from '../help.ts';
import { checkDays, datasetOption, kindOption, placeOptions } from '../slice.ts';
import { type Given, type Own, type Verbs, verb } from '../verb.ts';

const fileCompressions = compressions.filter((name) => name !== 'none');

const options = [
  ...placeOptions,
  kindOption,
  ['--where <where>', 'only records that fit, as score >= 0.9 (docs/where.md); implies --async'],
  datasetOption,
  ['--version <version>', 'the records of this dataset version: its id or its name'],
  ['--split <name>', 'only this part of the version; needs --version', splitNames],
  new Option('--format <format>', 'format of the file')
    .choices(exportFormats)
    .default('csv') as Own<{ format: ExportFormat }>,
  ['--compression <name>', 'of the file itself; not for parquet', fileCompressions],
  ['--columns <list>', 'these columns, separated by commas; also paths such as enrichment.origin'],
  [
    '--typed',
    'Parquet with the fields of the enrichment as columns of their types; svcctl exports schema shows them; implies --async',
  ],
  ['--template <template>', `NDJSON of other lines: ${templateWords}; implies --async`],
  [
    '--missing <rule>',
    'what becomes of a record without a value for the template: refuse fails, skip leaves it out and counts it (default: refuse)',
    missingRules,
  ],
  ['--preview', 'only print how the file begins, or the first line that --template makes'],
  new Option(
    '--style <name>',
    'of CSV. machine: exact round trip (default); spreadsheet: safe to open in one',
  )
    .choices(profiles)
    .argParser(parseStyle) as Own<{ style?: Profile }>,
  ['--no-header', 'CSV without the line of column names'],
  [
    '--async',
    'as a job of the service: survives restarts, and the download goes on where it broke off',
  ],
  ['--no-wait', 'with --async: print the job’s id and leave it at work'],
  ['--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)'],
  ['--force', 'replace the file if it exists'],
  ['--json', 'print what was written as JSON; needs --out FILE'],
] as const;

type Options = Given<typeof options>;

const exportSlice = verb({
  summary: 'export a slice of records to a file',
  description:
    'Exports the records of a tenant, from one snapshot and in the order of store, time and event. The file appears under its name only when its row count and its SHA-256 are those of the service.',
  examples: [
    'svcctl analytics export --tenant TX --quarter 2026-Q1 --format csv --out tx-q1.csv',
    'svcctl analytics export --tenant TX --month 2026-03 --store DFW --style spreadsheet',
    'svcctl analytics export --tenant TX --month 2026-03 --columns event_id,enrichment.score --preview',
    `svcctl analytics export --tenant TX --month 2026-03 --where 'score >= 0.9' --out best.csv`,
    'svcctl analytics export --tenant TX --version 2026-q1 --split train --format parquet --typed --out train.parquet',
    'svcctl analytics export --tenant TX --version 2026-q1 --format ndjson --template openai-chat --missing skip --out chat.jsonl',
    'svcctl analytics export --tenant TX --month 2026-03 --format ndjson --template @triage.json --preview',
    'svcctl analytics export --tenant TX --month 2026-03 --format ndjson --compression gzip --async --out tx.ndjson.gz',
  ],
  options,
  async act(context, options) {
    check(options);
    if (options.preview && options.template !== undefined) return previewTemplate(context, options);
    const { checkNames, requestOf } = await import('../exports/download.ts');
    const request = options.wait ? requestOf(context, options) : null;
    const client = await context.connect();
    const { isJobOnly, ...asked } = await sliceOf(context, client, options);
    if (options.preview) return previewLines(context, client, { asked, options });
    if (options.style === 'spreadsheet') await noteCuts(context, client, asked);
    if (request !== null) await checkNames(context, [request.out], request.mayReplace);
    if (request !== null && !options.async && !isJobOnly && !needsJob(options)) {
      const { streamExport } = await import('../exports/stream-export.ts');
      if (await streamExport(context, client, { asked, request })) return;
      context.note(
        'note: a proxy drops the digest of what is streamed (docs/operations/proxies.md), so a job makes the file once more',
      );
    }
    await exportAsJob(context, client, { asked, request, isJson: options.json === true });
  },
});

export const analytics: Verbs = { export: exportSlice };

/** Says on stderr, before anything is exported for a spreadsheet, what that would cut of it. */
async function noteCuts(context: Context, client: Client, asked: StreamRequest): Promise<void> {
  const { kind, dataset, version, split, profile } = asked.body;
  const query = { ...asked.slice, kind, dataset, version, split, profile };
  try {
    // A service of an earlier release does not say how many records are long.
    const told: { rows: number; long_records?: number | null } = await client.json(
      'GET /exports/estimate',
      { query },
    );
    const { rows, long_records = null } = told;
    const cut = cutBySheet({ rows, long_records, hasHeader: asked.hasHeader });
    if (cut !== null) context.note(`note: ${cut}`);
  } catch (error) {
    // A failure here is ignored, because the export itself tells what is wrong with the request or the service.
    if (context.io.signal.aborted) throw error;
  }
}

/** Prints how a file begins, with the rows of Parquet as JSON. */
async function previewLines(
  context: Context,
  client: Client,
  { asked, options }: { asked: StreamRequest; options: Options },
): Promise<void> {
  const { kind, dataset, version, split, profile } = asked.body;
  const { format, where, header, columns } = options;
  const { head, lines } = await client.json('POST /exports/preview', {
    body: {
      ...asked.slice,
      where,
      kind,
      dataset,
      version,
      split,
      format,
      columns: listOf(columns),
      profile,
      ...(!header && { header }),
    },
  });
  await context.out.write(head + lines.join(''));
  if (lines.length === 0) context.note('None of the first and last records fits.');
}

function listOf(columns: string | undefined): string[] | undefined {
  return columns?.split(',').map((column) => column.trim());
}

/** Prints the first line that a template makes, and tells how many of the records that were looked at have none. */
async function previewTemplate(context: Context, options: Options): Promise<void> {
  const { tenant, store, month, from, to, kind, where, dataset, split } = options;
  const client = await context.connect();
  const version = await versionOf(context, client, options);
  const template = (await templateOf(context, options.template)) ?? {};
  const slice = { tenant, store, month, from, to, kind, where, dataset };
  const answer = await client.json('POST /exports/ndjson/preview', {
    body: { ...slice, version: version?.id, split, template },
  });
  if (answer.line !== null) await context.out.write(`${answer.line}\n`);
  const { rows, fields } = answer.skipped;
  const lacking = Object.entries(fields).map(([name, count]) => `{{${name}}} in ${count}`);
  const looked = `${numberOf(answer.looked, 'record')} looked at`;
  context.note(rows === 0 ? looked : `${looked}; no value for ${lacking.join(', ')}`);
}

function needsJob({ where, typed, template }: Options): boolean {
  return where !== undefined || typed === true || template !== undefined;
}

/** Throws `usage_invalid` for options that contradict each other, before anything is asked. */
function check(options: Options): void {
  checkDays(options);
  const { version, month, from, format, async, wait, typed, template } = options;
  if (version === undefined && month === undefined && from === undefined) {
    throw usage('Say which days: --month, --quarter, or --from and --to; or which --version.');
  }
  if (version === undefined && options.split !== undefined) throw usage('--split needs --version.');
  const narrowed = (['store', 'month', 'quarter', 'from', 'kind', 'dataset'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (version !== undefined && narrowed !== undefined) {
    throw usage(`--version stands for its own records. Leave out --${narrowed}.`);
  }
  if (format !== 'csv' && (options.style !== undefined || !options.header)) {
    throw usage('--style and --no-header are for --format csv.');
  }
  if (format === 'parquet' && options.compression !== undefined) {
    throw usage('Parquet is compressed inside. Leave out --compression.');
  }
  if (template !== undefined && (format !== 'ndjson' || options.columns !== undefined)) {
    throw usage('--template is for --format ndjson, and without --columns.');
  }
  if (options.missing !== undefined && template === undefined) {
    throw usage('--missing needs --template.');
  }
  if (typed && format !== 'parquet') throw usage('--typed is for --format parquet.');
  if (!wait && !async && !needsJob(options)) throw usage('--no-wait needs --async.');
  if (!wait && (options.out !== undefined || options.force)) {
    throw usage('With --no-wait no file is written. Leave out --out, and get the file later.');
  }
}

/**
 * What to export, from the options, and whether a job must read all of it first. A version that is named is looked up in
 * the service.
 */
async function sliceOf(
  context: Context,
  client: Client,
  options: Options,
): Promise<StreamRequest & { isJobOnly: boolean }> {
  const { tenant, store, month, from, to, kind, where, dataset, style: profile, split } = options;
  const version = await versionOf(context, client, options);
  const body = {
    kind,
    where,
    dataset,
    profile,
    version: version?.id,
    split,
    columns: listOf(options.columns),
    typed: options.typed,
    template: await templateOf(context, options.template),
    missing: options.missing,
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
    isJobOnly: where !== undefined || (version?.isJobOnly ?? false),
  };
}

async function versionOf(
  context: Context,
  client: Client,
  { version: word, tenant, split }: Options,
): Promise<{ id: string; rows: number | null; isJobOnly: boolean } | null> {
  if (word === undefined) return null;
  const { findVersion, versionRows } = await import('../dataset-versions.ts');
  const version = await findVersion(context, client, { word, tenant });
  const isJobOnly =
    typeof version.where === 'string' ||
    (typeof version.group_by === 'string' && split !== undefined);
  return { id: version.id, rows: versionRows(version, split), isJobOnly };
}

/** Lets a job make the file, and downloads it; without a request it prints the id of the job. */
async function exportAsJob(
  context: Context,
  client: Client,
  {
    asked,
    request,
    isJson,
  }: { asked: StreamRequest; request: DownloadRequest | null; isJson: boolean },
): Promise<void> {
  const { askedOf, followExport, goesOnText, startExport } = await import('../exports/jobs.ts');
  const started = await startExport(client, asked.format, { ...asked.slice, ...asked.body });
  if (request !== null) {
    const { getFile } = await import('../exports/get-file.ts');
    const job = await followExport(context, client, started);
    return getFile(context, client, { job, request, manifest: null });
  }
  await context.out.write(`${isJson ? JSON.stringify(started) : started.id}\n`);
  context.hint(goesOnText(started.id));
  if (started.rows_total === 0) await noteEmptySlice(context, client, askedOf(started));
}

function parseStyle(name: string): Profile {
  const profile = profiles.find((known) => known === name);
  if (profile !== undefined) return profile;
  throw new InvalidArgumentError(
    'Here it is machine or spreadsheet. The profile to connect with stands first: svcctl --profile NAME analytics export.',
  );
}
