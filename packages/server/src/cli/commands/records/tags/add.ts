import { type Command, Option } from 'commander';
import { AppError } from '../../../../kernel/errors.ts';
import { confirm } from '../../../confirm.ts';
import type { Context } from '../../../context.ts';
import { placeText, type Tagged, windowText } from '../../../datasets/tags.ts';
import { type DatasetName, datasetNames, datasetText } from '../../../datasets/words.ts';
import { formatBytes, formatCount, formatNumberOf } from '../../../format.ts';
import { required, withExamples } from '../../../help.ts';
import { checkDays, type Days } from '../../../slice.ts';

type Options = Days & {
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
      'Tags whole days of a tenant or a store, with the records that arrive in them later; without days:\nall of them. Asks first when records would be in both datasets.',
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
    .action((options: Options) => addTag(context, options));
  withExamples(command, [
    'svcctl records tags add --tenant TX --from 2026-01-01 --to 2026-03-31 --dataset training',
    'svcctl records tags add --tenant TX --store DFW --month 2026-03 --dataset fine_tuning --note "checked by hand"',
    'svcctl records tags add --tenant TX --dataset training --dry-run',
  ]);
}

async function addTag(context: Context, options: Options): Promise<void> {
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

/** Data of one purpose used for the other spoils an evaluation: nobody should do that unawares. */
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

/** Tagged 41,022 records (19.7 MB) of TX, store DFW, 2001-01-01 … 2001-01-31, as training data. */
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
