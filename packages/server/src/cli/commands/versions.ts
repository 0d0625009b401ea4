import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DatasetName, datasetNames } from '../../records/values.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import {
  findVersion,
  followCounting,
  type Version,
  versionColumns,
  versionFields,
  versionLines,
} from '../dataset-versions.ts';
import { formatBytes, formatNumberOf } from '../format.ts';
import { required, withExamples } from '../help.ts';
import { styled } from '../io.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { printList } from '../pages.ts';
import { printDetails } from '../webhooks/details.ts';

type LsOptions = { tenant?: string; dataset?: DatasetName; json?: JsonOption };

export function addVersionsLs(versions: Command, context: Context): void {
  const command = versions
    .command('ls')
    .summary('list the dataset versions')
    .description('Lists the frozen versions of datasets, the latest first.')
    .option('--tenant <tenant>', 'only of this tenant')
    .addOption(new Option('--dataset <name>', 'only of this dataset').choices(datasetNames))
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listVersions(context, options));
  withExamples(command, [
    'svcctl records versions ls --tenant TX',
    'svcctl records versions ls --json id,name,count,digest',
  ]);
}

async function listVersions(context: Context, { json, ...query }: LsOptions): Promise<void> {
  const columns = versionColumns(context.io.now());
  const output = { columns, fields: versionFields, json };
  await printList(context, output, {
    route: 'GET /enrichment/dataset-versions',
    query,
    tell: ({ printed }) =>
      printed === 0
        ? 'No versions. Freeze what is tagged: svcctl records versions create'
        : `${formatNumberOf(printed, 'version')} · look at one: svcctl records versions show ID`,
  });
}

type ShowOptions = { tenant?: string; json?: JsonOption };

export function addVersionsShow(versions: Command, context: Context): void {
  const command = versions
    .command('show')
    .summary('show one dataset version, with its slices and splits')
    .description('Shows a dataset version: what was frozen, its splits, and what is left of it.')
    .argument('<version>', 'its id; with --tenant also its name')
    .option('--tenant <tenant>', 'the tenant among whose versions the name is looked up')
    .option(jsonFlags, jsonHelp)
    .action((word: string, options: ShowOptions) => show(context, word, options));
  withExamples(command, [
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions show 2026-q1 --tenant TX',
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p --json count,digest,splits',
  ]);
}

async function show(context: Context, word: string, { tenant, json }: ShowOptions): Promise<void> {
  picker(json, versionFields);
  const client = await context.connect();
  const version = await findVersion(context, client, { word, tenant });
  await printDetails(context, JSON.stringify(version), {
    json,
    fields: versionFields,
    lines: () => versionLines(context, version),
  });
}

type Shares = { train: number; validation: number; test: number };
type CreateOptions = {
  tenant?: string;
  dataset?: DatasetName;
  name?: string;
  split?: Shares;
  note?: string;
  wait: boolean;
  json?: true;
};

export function addVersionsCreate(versions: Command, context: Context): void {
  const command = versions
    .command('create')
    .summary('freeze the tagged slices of a tenant into a version')
    .description(
      'Freezes the records that are tagged so now into a version that stays the same, whatever is tagged, untagged or arrives later; waits until they were read and compared. Prints its id.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .addOption(new Option('--dataset <name>', 'the dataset (required)').choices(datasetNames))
    .option('--name <name>', 'its name, of which the tenant has no other (required)')
    .option(
      '--split <shares>',
      'percent for train/validation/test, as 80/10/10; by hash of the event, so the same one each time',
      parseShares,
    )
    .option('--note <text>', 'a note for people')
    .option('--no-wait', 'leave the service at counting')
    .option('--json', 'print the version as JSON')
    .action((options: CreateOptions) => create(context, options));
  withExamples(command, [
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1',
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1 --split 80/10/10 --note "first one"',
    'svcctl analytics export --tenant TX --version 2026-q1 --split train --format parquet',
  ]);
}

/** Freezes a version, and waits until it is counted unless --no-wait was given. */
async function create(context: Context, options: CreateOptions): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  const dataset = required(options.dataset, '--dataset') as DatasetName;
  const name = required(options.name, '--name');
  const { split: shares, note, json } = options;
  const client = await context.connect();
  const made = await client.json('POST /enrichment/dataset-versions', {
    body: { tenant, dataset, name, shares, note },
  });
  const version = options.wait ? await followCounting(context, client, made) : made;
  await context.out.write(`${json ? JSON.stringify(version) : version.id}\n`);
  tell(context, version);
}

/** Prints a counted version: `✓ 2026-q1: 512,991 records (246 MB) · digest 9f3c00000000abe1`. */
function tell(context: Context, version: Version): void {
  const { io } = context;
  const isReady = version.state === 'ready';
  const amount = `${formatNumberOf(version.count, 'record')} (${formatBytes(version.bytes)})`;
  context.note(
    `${isReady ? `${styled(io, io.stderr, 'green', '✓')} ` : ''}${version.name}: ${amount} · digest ${version.digest}${isReady ? '' : ` · ${version.state}`}`,
  );
  for (const [name, { count, digest }] of Object.entries(version.splits ?? {})) {
    context.note(`  ${name}: ${formatNumberOf(count, 'record')} · digest ${digest}`);
  }
  context.hint(
    `export it: svcctl analytics export --tenant ${version.tenant} --version ${version.id} --format parquet`,
  );
}

function parseShares(text: string): Shares {
  const [, ...shares] = /^(\d{1,3})\/(\d{1,3})\/(\d{1,3})$/.exec(text) ?? [];
  const [train = 0, validation = 0, test = 0] = shares.map(Number);
  if (train + validation + test === 100) return { train, validation, test };
  throw new InvalidArgumentError('It is not three shares of 100 together, such as 80/10/10.');
}

type RmOptions = { tenant?: string; yes?: true };

export function addVersionsRm(versions: Command, context: Context): void {
  const command = versions
    .command('rm')
    .summary('delete a dataset version')
    .description(
      'Deletes a dataset version. Its records and tags stay; retention need not keep the records for it any more.',
    )
    .argument('<version>', 'its id; with --tenant also its name')
    .option('--tenant <tenant>', 'the tenant among whose versions the name is looked up')
    .option('--yes', 'do not ask')
    .action((word: string, options: RmOptions) => remove(context, word, options));
  withExamples(command, [
    'svcctl records versions rm ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions rm 2026-q1 --tenant TX --yes',
  ]);
}

async function remove(context: Context, word: string, { tenant, yes }: RmOptions): Promise<void> {
  const client = await context.connect();
  const version = await findVersion(context, client, { word, tenant });
  const what = `${version.name} of ${version.tenant} (${version.id})`;
  await confirm(context, yes, {
    question: `Delete the version ${what}? Its ${formatNumberOf(version.count, 'record')} stay, but nothing keeps them together.`,
    act: 'Delete',
    refused: 'Nothing was deleted.',
  });
  await client.json('DELETE /enrichment/dataset-versions/:id', { params: { id: version.id } });
  context.note(`Deleted ${what}.`);
}
