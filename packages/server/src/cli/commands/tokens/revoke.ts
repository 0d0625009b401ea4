import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
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
  const { io } = context;
  if (!yes) {
    if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
      throw new AppError('usage_invalid', {
        detail: 'There is no terminal to ask at. Revoke without asking: --yes',
      });
    }
    const { askYes } = await import('../../prompt.ts');
    if (!(await askYes(context, `Revoke ${id}? Whoever uses it is locked out at once.`))) {
      throw new AppError('interrupted', { detail: 'Nothing was revoked.' });
    }
  }
  const client = await context.connect();
  await client.json('DELETE /tokens/:id', { params: { id } });
  context.note(`Revoked ${id}.`);
}
