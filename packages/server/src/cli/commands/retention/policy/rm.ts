import type { Command } from 'commander';
import { confirm } from '../../../confirm.ts';
import type { Context } from '../../../context.ts';
import { withExamples } from '../../../help.ts';
import { dueText, measureDue } from '../../../retention/due-for-deletion.ts';

export function addPolicyRm(policy: Command, context: Context): void {
  const command = policy
    .command('rm')
    .summary('put a tenant back under the default')
    .description(
      'Removes the policy of a tenant: the default (*) is in force for it again. When more would be deleted\nby that, or a legal hold ends, it tells so and asks.',
    )
    .argument('<tenant>', 'the tenant')
    .option('--yes', 'do not ask')
    .action((tenant: string, options: { yes?: true }) => remove(context, tenant, options));
  withExamples(command, ['svcctl retention policy rm TX', 'svcctl retention policy rm TX --yes']);
}

async function remove(context: Context, tenant: string, { yes }: { yes?: true }): Promise<void> {
  const client = await context.connect();
  const own = await client.json('GET /retention/policies/:tenant', { params: { tenant } });
  const standard = await client.json('GET /retention/policies/:tenant', {
    params: { tenant: '*' },
  });
  const { delete_days: deleteDays } = standard;
  const isShorter =
    deleteDays !== null && (own.delete_days === null || deleteDays < own.delete_days);
  const endsHold = own.hold && !standard.hold;
  if (deleteDays !== null && !standard.hold && (isShorter || endsHold)) {
    const due = await measureDue(context, client, { tenant, deleteDays });
    if (due.count > 0) context.note(`The next run would DELETE ${dueText(due)}.`);
  }
  if (isShorter || endsHold) {
    await confirm(context, yes, {
      question: endsHold ? `End the legal hold of ${tenant}?` : `Put ${tenant} under the default?`,
      act: 'Remove it',
      refused: 'The policy is as it was.',
    });
  }
  await client.json('DELETE /retention/policies/:tenant', { params: { tenant } });
  context.note(`${tenant} is under the default (*) now.`);
}
