import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

export function addEndpointsDelete(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('delete')
    .summary('delete an endpoint and discard what it was not sent')
    .description('Deletes an endpoint for good. What was not delivered to it is discarded.')
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--yes', 'do not ask')
    .action((id: string, options: { yes?: true }) => deleteEndpoint(context, id, options));
  withExamples(command, [
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints delete ep_4fTq9Zx7Kq2LmN0p --yes',
  ]);
}

async function deleteEndpoint(
  context: Context,
  id: string,
  { yes }: { yes?: true },
): Promise<void> {
  await confirm(context, yes, {
    question: `Delete ${id}? What was not delivered to it is discarded.`,
    act: 'Delete',
    refused: 'Nothing was deleted.',
  });
  const client = await context.connect();
  await client.json('DELETE /webhook/endpoints/:id', { params: { id } });
  context.note(`Deleted ${id}.`);
}
