import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { formatNumberOf } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { backlogOf } from '../../webhooks/endpoints.ts';

type Options = { discardBacklog?: true; yes?: true };

export function addEndpointsEnable(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('enable')
    .summary('send to an endpoint again')
    .description(
      'Sends to an endpoint again, also what waited meanwhile, as fast as its rate and its receiver allow.\nEnds a pause after failures.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--discard-backlog', 'discard what waited instead of sending it')
    .option('--yes', 'do not ask whether to discard')
    .action((id: string, options: Options) =>
      options.discardBacklog ? discard(context, id, options) : enable(context, id),
    );
  withExamples(command, [
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p',
    'svcctl endpoints enable ep_4fTq9Zx7Kq2LmN0p --discard-backlog',
  ]);
}

async function enable(context: Context, id: string): Promise<void> {
  const client = await context.connect();
  const { url, backlog } = await client.json('PATCH /webhook/endpoints/:id', {
    params: { id },
    body: { enabled: true },
  });
  const waiting = `${backlog.is_exact ? '' : 'at least '}${formatNumberOf(backlog.count, 'delivery', 'deliveries')}`;
  const rest =
    backlog.count === 0
      ? 'Nothing waited for it.'
      : `What waited for it (${waiting}) is sent when the drainer runs.`;
  context.note(`Enabled ${id} (${url}). ${rest}`);
}

async function discard(context: Context, id: string, { yes }: Options): Promise<void> {
  const client = await context.connect();
  const { backlog } = await client.json('GET /webhook/endpoints/:id', { params: { id } });
  await confirm(context, yes, {
    question: `Discard what waits for ${id} (${backlogOf({ backlog })}), and enable it?`,
    act: 'Discard',
    refused: 'Nothing was discarded; the endpoint is as it was.',
  });
  const { url, enabled } = await client.json('POST /webhook/endpoints/:id/discard-backlog', {
    params: { id },
  });
  context.note(
    enabled
      ? `Discarded what waited for ${id} (${url}), and enabled it.`
      : `What waits for ${id} (${url}) is being discarded; then it is enabled: svcctl endpoints show ${id}`,
  );
}
