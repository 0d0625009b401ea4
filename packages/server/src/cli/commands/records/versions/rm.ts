import type { Command } from 'commander';
import { confirm } from '../../../confirm.ts';
import type { Context } from '../../../context.ts';
import { findVersion } from '../../../datasets/versions.ts';
import { formatNumberOf } from '../../../format.ts';
import { withExamples } from '../../../help.ts';

type Options = { tenant?: string; yes?: true };

export function addVersionsRm(versions: Command, context: Context): void {
  const command = versions
    .command('rm')
    .summary('delete a dataset version')
    .description(
      'Deletes a dataset version. Its records and tags stay; retention need not keep the records for it\nany more.',
    )
    .argument('<version>', 'its id; with --tenant also its name')
    .option('--tenant <tenant>', 'the tenant among whose versions the name is looked up')
    .option('--yes', 'do not ask')
    .action((word: string, options: Options) => remove(context, word, options));
  withExamples(command, [
    'svcctl records versions rm ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions rm 2026-q1 --tenant TX --yes',
  ]);
}

async function remove(context: Context, word: string, { tenant, yes }: Options): Promise<void> {
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
