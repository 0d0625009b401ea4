import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { formatInstant } from '../../format.ts';
import { withExamples } from '../../help.ts';

type Options = { yes?: true; json?: true };

export function addEndpointsRotateSecret(endpoints: Command, context: Context): void {
  const command = endpoints
    .command('rotate-secret')
    .summary('give an endpoint a new secret')
    .description(
      'Gives an endpoint a new secret and prints it, this once, alone on stdout. For 24 hours deliveries are\nsigned with the old one as well, and with those rotated out before it on the same day.',
    )
    .argument('<id>', 'the endpoint’s id, as svcctl endpoints ls prints it')
    .option('--yes', 'do not ask')
    .option('--json', 'print the whole answer as JSON')
    .action((id: string, options: Options) => rotate(context, id, options));
  withExamples(command, [
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p > secret.txt',
    'svcctl endpoints rotate-secret ep_4fTq9Zx7Kq2LmN0p --yes --json',
  ]);
}

async function rotate(context: Context, id: string, { yes, json }: Options): Promise<void> {
  await confirm(context, yes, {
    question: `Give ${id} a new secret? Its receiver must learn it within 24 hours.`,
    act: 'Rotate',
    refused: 'The secret is as it was.',
  });
  const client = await context.connect();
  const made = await client.json('POST /webhook/endpoints/:id/rotate-secret', { params: { id } });
  await context.out.write(`${json ? JSON.stringify(made) : made.secret}\n`);
  const until = made.previous_secret_until;
  const old = until ? ` The old one also signs until ${formatInstant(until)} UTC.` : '';
  context.note(`${id} has a new secret, shown only this once.${old}`);
}
