import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { followCounting, type Version } from '../../../datasets/versions.ts';
import { type DatasetName, datasetNames } from '../../../datasets/words.ts';
import { formatBytes, formatNumberOf } from '../../../format.ts';
import { required, withExamples } from '../../../help.ts';
import { styled } from '../../../style.ts';

type Shares = { train: number; validation: number; test: number };
type Options = {
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
      'Freezes the records that are tagged so now into a version that stays the same, whatever is tagged,\nuntagged or arrives later; waits until they were read and compared. Prints its id.',
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
    .action((options: Options) => create(context, options));
  withExamples(command, [
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1',
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1 --split 80/10/10 --note "first one"',
    'svcctl analytics export --tenant TX --version 2026-q1 --split train --format parquet',
  ]);
}

async function create(context: Context, options: Options): Promise<void> {
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

/** ✓ 2026-q1: 512,991 records (246 MB) · digest 9f3c00000000abe1 */
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
