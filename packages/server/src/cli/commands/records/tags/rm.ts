import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { withExamples } from '../../../help.ts';
import { assertAllDone, tryEachId } from '../../../webhooks/each-id.ts';

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
