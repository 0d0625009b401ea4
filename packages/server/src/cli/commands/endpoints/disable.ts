import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

export function addEndpointsDisable(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('disable')
    .summary('send nothing to an endpoint for now')
    .description(
      'Sends nothing to an endpoint for now. What waits for it, and what is reported meanwhile, uses up no\nattempts; it is abandoned after SVC_DELIVERY_DAYS days.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .action((id: string) => disable(context, id));
  withExamples(command, ['svcctl endpoints disable ep_4fTq9Zx7Kq2LmN0p']);
}

async function disable(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: false },
  });
  context.note(`Disabled ${id} (${url}). What comes for it waits: svcctl endpoints enable ${id}`);
}
