import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

type Options = { json?: true };

export function addEndpointsPing(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('ping')
    .summary('send an event of type webhook.ping to an endpoint')
    .description(
      'Sends an event of type webhook.ping to an endpoint. Prints the id of the delivery.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--json', 'print the whole answer as JSON')
    .action((id: string, options: Options) => ping(context, id, options));
  withExamples(command, ['svcctl endpoints ping ep_4fTq9Zx7Kq2LmN0p']);
}

async function ping(context: Context, id: string, { json }: Options): Promise<void> {
  const client = await context.connect();
  const answer = await client.json('POST /webhook/endpoints/:id/ping', { params: { id } });
  await context.out.write(`${json ? JSON.stringify(answer) : answer.id}\n`);
  context.note(
    `Queued. The drainer sends it when it runs; what became of it: svcctl dlq show ${answer.id}`,
  );
}
