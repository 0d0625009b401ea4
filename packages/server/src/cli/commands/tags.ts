import { type Command, Option } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import { type DatasetName, datasetNames } from '../../records/values.ts';
import type { RouteAnswer } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatCount, formatNumberOf, formatRelative } from '../format.ts';
import { required, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { printList } from '../pages.ts';
import { checkDays, type Days, windowText } from '../slice.ts';
import type { Column } from '../table.ts';
import { assertAllDone, tryEachId } from '../webhooks/retry-all.ts';

type LsOptions = Days & {
  tenant?: string;
  store?: string;
  dataset?: DatasetName;
  json?: JsonOption;
};

export function addTagsLs(tags: Command, context: Context): void {
  const command = tags
    .command('ls')
    .summary('list the tagged slices')
    .description(
      'Lists the tagged slices, the latest first, with the records that are in them now. With days or a store: those that touch them.',
    )
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--store <store>', 'only those that touch this store')
    .addOption(new Option('--dataset <name>', 'only of this dataset').choices(datasetNames))
    .option('--month <month>', 'only those that touch this month, as 2026-03')
    .option('--from <date>', 'only those that touch days from this one on')
    .option('--to <date>', 'up to this day, inclusive')
    .option(jsonFlags, jsonHelp)
    .action((options: LsOptions) => listTags(context, options));
  withExamples(command, [
    'svcctl records tags ls --tenant TX',
    'svcctl records tags ls --tenant TX --store DFW --month 2026-03',
    'svcctl records tags ls --dataset training --json id,tenant,count',
  ]);
}

async function listTags(context: Context, { json, ...query }: LsOptions): Promise<void> {
  checkDays(query);
  const output = { columns: tagColumns(context.io.now()), fields: tagFields, json };
  await printList(context, output, {
    route: 'GET /enrichment/tags',
    query,
    tell: ({ printed }) =>
      printed === 0
        ? 'No tags that match. Tag a slice: svcctl records tags add'
        : `${formatNumberOf(printed, 'tag')} · freeze what is tagged: svcctl records versions create`,
  });
}

type AddOptions = Days & {
  tenant?: string;
  store?: string;
  dataset?: DatasetName;
  note?: string;
  dryRun?: true;
  yes?: true;
  json?: true;
};

export function addTagsAdd(tags: Command, context: Context): void {
  const command = tags
    .command('add')
    .summary('tag a slice as training or fine-tuning data')
    .description(
      'Tags whole days of a tenant or a store, with the records that arrive in them later; without days: all of them. Asks first when records would be in both datasets.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--store <store>', 'only this store')
    .option('--month <month>', 'this month, as 2026-03')
    .option('--from <date>', 'from this day on, as 2026-01-01')
    .option('--to <date>', 'up to this day, inclusive')
    .addOption(
      new Option('--dataset <name>', 'what the records are for (required)').choices(datasetNames),
    )
    .option('--note <text>', 'a note for people')
    .option('--dry-run', 'only tell what would be tagged')
    .option('--yes', 'do not ask, even when records would be in both datasets')
    .option('--json', 'print the tag as JSON')
    .action((options: AddOptions) => addTag(context, options));
  withExamples(command, [
    'svcctl records tags add --tenant TX --from 2026-01-01 --to 2026-03-31 --dataset training',
    'svcctl records tags add --tenant TX --store DFW --month 2026-03 --dataset fine_tuning --note "checked by hand"',
    'svcctl records tags add --tenant TX --dataset training --dry-run',
  ]);
}

async function addTag(context: Context, options: AddOptions): Promise<void> {
  const tenant = required(options.tenant, '--tenant');
  const dataset = required(options.dataset, '--dataset') as DatasetName;
  checkDays(options);
  const { store, month, from, to, note } = options;
  const slice = { tenant, store, month, from, to, dataset };
  const client = await context.connect();
  const body = { ...slice, note };
  const planned = await client.json('POST /enrichment/tags', { body: { ...body, dry_run: true } });
  for (const warning of planned.warnings) context.note(`warning: ${warning.message}`);
  if (options.dryRun) {
    await tell(context, planned, { isJson: options.json === true, verb: 'Would tag' });
    return;
  }
  await askAboutBoth(context, planned, options.yes);
  const tagged = await client.json('POST /enrichment/tags', { body });
  await tell(context, tagged, { isJson: options.json === true, verb: 'Tagged' });
}

/**
 * Warns when records would be in both datasets, and asks: data of one purpose that is used for the other spoils an
 * evaluation.
 */
async function askAboutBoth(
  context: Context,
  planned: Tagged,
  yes: true | undefined,
): Promise<void> {
  const both = planned.warnings.find(({ code }) => code === 'in_both_datasets');
  if (both === undefined || yes) return;
  const { stdin, stderr } = context.io;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new AppError('in_both_datasets', {
      detail: `${formatNumberOf(both.count, 'record')} would be in both datasets. Nothing was tagged. If that is meant: --yes`,
    });
  }
  await confirm(context, undefined, {
    question: `Tag ${formatNumberOf(planned.count, 'record')}, ${formatCount(both.count)} of them for both?`,
    act: 'Tag',
    refused: 'Nothing was tagged.',
  });
}

/**
 * Prints what was tagged: `Tagged 41,022 records (19.7 MB) of TX, store DFW, 2001-01-01 … 2001-01-31, as training
 * data.`
 */
async function tell(
  context: Context,
  tagged: Tagged,
  { isJson, verb }: { isJson: boolean; verb: string },
): Promise<void> {
  if (isJson) await context.out.write(`${JSON.stringify(tagged)}\n`);
  else if (tagged.id !== null) await context.out.write(`${tagged.id}\n`);
  const records = `${formatNumberOf(tagged.count, 'record')} (${formatBytes(tagged.bytes)})`;
  context.note(
    `${verb} ${records} of ${placeText(tagged)}, ${windowText(tagged)}, as ${datasetText(tagged.dataset)} data.`,
  );
  if (tagged.id !== null) context.hint(`undo: svcctl records tags rm ${tagged.id}`);
}

export function addTagsRm(tags: Command, context: Context): void {
  const command = tags
    .command('rm')
    .summary('untag slices')
    .description(
      'Untags slices. Their records stay; versions that were frozen with them stay as they are.',
    )
    .argument('<id...>', 'ids, as svcctl records tags ls prints them')
    .action((ids: string[]) => untag(context, ids));
  withExamples(command, [
    'svcctl records tags rm tag_4fTq9Zx7Kq2LmN0p',
    'svcctl records tags ls --tenant TX --json id | jq -r ".[].id" | xargs svcctl records tags rm',
  ]);
}

async function untag(context: Context, ids: readonly string[]): Promise<void> {
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    await client.json('DELETE /enrichment/tags/:id', { params: { id } });
    context.note(`Untagged ${id}.`);
  });
  assertAllDone(refused);
}

export type Tag = RouteAnswer<'GET /enrichment/tags'>['data'][number];
export type Tagged = RouteAnswer<'POST /enrichment/tags'>;

const tagFields = [
  'id',
  'tenant',
  'store',
  'from',
  'to',
  'dataset',
  'note',
  'count',
  'bytes',
  'created_at',
  'created_by',
] as const satisfies readonly (keyof Tag)[];

/** The place of a tag: "TX", or "TX, store DFW". */
function placeText({ tenant, store }: { tenant: string; store: string | null }): string {
  return store === null ? tenant : `${tenant}, store ${store}`;
}

function tagColumns(nowMillis: number): Column<Tag>[] {
  return [
    { title: 'ID', value: (tag) => tag.id },
    { title: 'TENANT', isElastic: true, value: (tag) => tag.tenant },
    {
      title: 'STORE',
      isElastic: true,
      value: (tag) => tag.store,
      shown: (tag) => tag.store ?? 'all',
    },
    { title: 'DAYS (UTC)', value: (tag) => `${tag.from ?? ''}/${tag.to ?? ''}`, shown: windowText },
    { title: 'DATASET', value: (tag) => tag.dataset },
    {
      title: 'RECORDS',
      align: 'right',
      value: (tag) => tag.count,
      shown: (tag) => formatCount(tag.count),
    },
    {
      title: 'BYTES',
      align: 'right',
      value: (tag) => tag.bytes,
      shown: (tag) => formatBytes(tag.bytes),
    },
    {
      title: 'TAGGED',
      value: (tag) => tag.created_at,
      shown: (tag) => formatRelative(tag.created_at, nowMillis),
    },
    { title: 'NOTE', isElastic: true, value: (tag) => tag.note },
  ];
}

/** "fine-tuning", as people write it. */
function datasetText(dataset: DatasetName): string {
  return dataset.replace('_', '-');
}
