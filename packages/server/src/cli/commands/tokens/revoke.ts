import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

export function addTokensRevoke(tokens: Command, context: Context): void {
  const command = tokens
    .command('revoke')
    .summary('end an access token')
    .description('Revokes an access token: it is dead at once, everywhere, for good.')
    .argument('<id>', 'the token’s id, as svcctl tokens ls prints it')
    .option('--yes', 'do not ask')
    .action((id: string, options: { yes?: true }) => revoke(context, id, options));
  withExamples(command, [
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p',
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p --yes',
  ]);
}

async function revoke(context: Context, id: string, { yes }: { yes?: true }): Promise<void> {
  await confirm(context, yes, {
    question: `Revoke ${id}? Whoever uses it is locked out at once.`,
    act: 'Revoke',
    refused: 'Nothing was revoked.',
  });
  const client = await context.connect();
  await client.json('DELETE /tokens/:id', { params: { id } });
  context.note(`Revoked ${id}.`);
}
