import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

export function addDlqCancel(dlq: Command, context: Context): void {
  const command = dlq
    .command('cancel')
    .summary('end a job of dlq retry --all')
    .description('Ends a job of dlq retry --all for good. What it has re-armed stays so.')
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .action((id: string) => cancel(context, id));
  withExamples(command, ['svcctl dlq cancel rty_4fTq9Zx7Kq2LmN0p']);
}

async function cancel(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  await client.json('DELETE /webhook/dlq/retries/:id', { params: { id } });
  const { state } = await client.json('GET /webhook/dlq/retries/:id', { params: { id } });
  context.note(state === 'cancelled' ? `Cancelled ${id}.` : `${id} had ended already: ${state}.`);
}
