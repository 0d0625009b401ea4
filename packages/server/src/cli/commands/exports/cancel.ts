import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ExportJob } from '../../exports/jobs.ts';
import { withExamples } from '../../help.ts';
import { assertAllDone, tryEachId } from '../../webhooks/each-id.ts';

export function addExportsCancel(exports: Command, context: Context): void {
  const command = exports
    .command('cancel')
    .summary('cancel export jobs, or remove their files')
    .description(
      'Cancels export jobs that are queued or running. Of those that are completed, the file is removed.',
    )
    .argument('<id...>', 'ids, as svcctl exports ls prints them')
    .action((ids: string[]) => cancel(context, ids));
  withExamples(command, ['svcctl exports cancel exp_4fTq9Zx7Kq2LmN0p']);
}

async function cancel(context: Context, ids: readonly string[]): Promise<void> {
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    context.note(outcome(await client.json('DELETE /exports/:id', { params: { id } })));
  });
  assertAllDone(refused);
}

function outcome({ id, state }: ExportJob): string {
  switch (state) {
    case 'queued':
    case 'running':
      return `Cancelling ${id}.`;
    case 'cancelled':
      return `Cancelled ${id}.`;
    case 'completed':
      return `${id} was completed. Its file is removed.`;
    case 'erased':
      return `${id} has no file any more: records of its slice were erased.`;
    case 'failed':
      return `${id} had failed already.`;
  }
}
