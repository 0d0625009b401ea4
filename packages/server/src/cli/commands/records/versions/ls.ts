import { type Command, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { type Version, versionColumns, versionFields } from '../../../datasets/versions.ts';
import { type DatasetName, datasetNames } from '../../../datasets/words.ts';
import { formatNumberOf } from '../../../format.ts';
import { withExamples } from '../../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../../output.ts';
import { walkPages } from '../../../pages.ts';

type Options = { tenant?: string; dataset?: DatasetName; json?: JsonOption };

export function addVersionsLs(versions: Command, context: Context): void {
  const command = versions
    .command('ls')
    .summary('list the dataset versions')
    .description('Lists the frozen versions of datasets, the latest first.')
    .option('--tenant <tenant>', 'only of this tenant')
    .addOption(new Option('--dataset <name>', 'only of this dataset').choices(datasetNames))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listVersions(context, options));
  withExamples(command, [
    'svcctl records versions ls --tenant TX',
    'svcctl records versions ls --json id,name,count,digest',
  ]);
}

async function listVersions(context: Context, { json, ...query }: Options): Promise<void> {
  const printer = createRowPrinter<Version>(context, {
    columns: versionColumns(context.io.now()),
    fields: versionFields,
    json,
  });
  const client = await context.connect();
  let printed = 0;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /enrichment/dataset-versions',
    query,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint(
    printed === 0
      ? 'No versions. Freeze what is tagged: svcctl records versions create'
      : `${formatNumberOf(printed, 'version')} · look at one: svcctl records versions show ID`,
  );
}
