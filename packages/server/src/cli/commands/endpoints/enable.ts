import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

export function addEndpointsEnable(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('enable')
    .summary('send to an endpoint again')
    .description(
      'Sends to an endpoint again, also what waited meanwhile. Ends a pause after failures.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .action((id: string) => enable(context, id));
  withExamples(command, ['svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p']);
}

async function enable(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: true },
  });
  context.note(`Enabled ${id} (${url}). What waited for it is sent when the drainer runs.`);
}
