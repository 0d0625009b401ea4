import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatCount } from '../../format.ts';
import { withExamples } from '../../help.ts';

export function addDlqPause(dlq: Command, context: Context): void {
  const command = dlq
    .command('pause')
    .summary('hold a job of dlq retry --all')
    .description('Holds a job of dlq retry --all where it is. What it has re-armed stays so.')
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .action((id: string) => pause(context, id));
  withExamples(command, ['svcctl dlq pause rty_4fTq9Zx7Kq2LmN0p']);
}

async function pause(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const job = await client.json('PATCH /webhook/dlq/retries/:id', {
    params: { id },
    body: { state: 'paused' },
  });
  const done = `${formatCount(job.rows_done)} of ${formatCount(job.rows_total)}`;
  context.note(`Paused ${id} at ${done}. Go on: svcctl dlq resume ${id}`);
}
