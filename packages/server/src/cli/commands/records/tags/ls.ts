import { type Command, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { type Tag, tagColumns, tagFields } from '../../../datasets/tags.ts';
import { type DatasetName, datasetNames } from '../../../datasets/words.ts';
import { formatNumberOf } from '../../../format.ts';
import { withExamples } from '../../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../../output.ts';
import { walkPages } from '../../../pages.ts';
import { checkDays, type Days } from '../../../slice.ts';

type Options = Days & {
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
      'Lists the tagged slices, the latest first, with the records that are in them now. With days or a\nstore: those that touch them.',
    )
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--store <store>', 'only those that touch this store')
    .addOption(new Option('--dataset <name>', 'only of this dataset').choices(datasetNames))
    .option('--month <month>', 'only those that touch this month, as 2026-03')
    .option('--from <date>', 'only those that touch days from this one on')
    .option('--to <date>', 'up to this day, inclusive')
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listTags(context, options));
  withExamples(command, [
    'svcctl records tags ls --tenant TX',
    'svcctl records tags ls --tenant TX --store DFW --month 2026-03',
    'svcctl records tags ls --dataset training --json id,tenant,count',
  ]);
}

async function listTags(context: Context, { json, ...query }: Options): Promise<void> {
  checkDays(query);
  const printer = createRowPrinter<Tag>(context, {
    columns: tagColumns(context.io.now()),
    fields: tagFields,
    json,
  });
  const client = await context.connect();
  let printed = 0;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /enrichment/tags',
    query,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    printed === 0
      ? 'No tags that match. Tag a slice: svcctl records tags add'
      : `${formatNumberOf(printed, 'tag')} · freeze what is tagged: svcctl records versions create`,
  );
}
