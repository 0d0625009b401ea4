import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { formatNumberOf } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { assertAllDone, tryEachId } from '../../webhooks/each-id.ts';

export function addDlqPurge(dlq: Command, context: Context): void {
  const command = dlq
    .command('purge')
    .summary('discard failed deliveries for good')
    .description(
      'Discards deliveries that are queued, pending or abandoned: they are never sent. The history keeps them\nas discarded.',
    )
    .argument('<id...>', 'ids, as svcctl dlq ls prints them')
    .option('--yes', 'do not ask')
    .action((ids: string[], options: { yes?: true }) => purge(context, ids, options));
  withExamples(command, [
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq purge dlv_070t1x2y3Kq2LmN0pAbCdE dlv_070t1x2y3Kq2LmN0pAbCdF --yes',
  ]);
}

async function purge(
  context: Context,
  ids: readonly string[],
  { yes }: { yes?: true },
): Promise<void> {
  const [first = ''] = ids;
  const what = ids.length === 1 ? first : formatNumberOf(ids.length, 'delivery', 'deliveries');
  await confirm(context, yes, {
    question: `Discard ${what}? It cannot be undone.`,
    act: 'Discard',
    refused: 'Nothing was discarded.',
  });
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    await client.json('DELETE /webhook/dlq/:id', { params: { id } });
    context.note(`Discarded ${id}.`);
  });
  assertAllDone(refused);
}
