import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../../../../kernel/errors.ts';
import type { Client } from '../../../client.ts';
import { confirm } from '../../../confirm.ts';
import type { Context } from '../../../context.ts';
import { wholeNumber, withExamples } from '../../../help.ts';
import { dueText, measureDue } from '../../../retention/due-for-deletion.ts';
import { type Policy, policyFields, policyRows } from '../../../retention/policies.ts';
import { nameValueLines, printDetails } from '../../../webhooks/details.ts';

type Options = {
  hotDays?: number;
  deleteDays?: number | 'never';
  hold?: boolean;
  yes?: true;
  json?: true;
};
type Change = Pick<Policy, 'hot_days' | 'delete_days' | 'hold'>;

export function addPolicySet(policy: Command, context: Context): void {
  const command = policy
    .command('set')
    .summary('set the policy of a tenant, or the default')
    .description(
      'Sets the policy of a tenant, or the default ("*"); what is not given stays as it is in force now. When\nmore would be deleted by it, it tells what and asks. A policy acts at the next run.',
    )
    .argument('<tenant>', 'the tenant, or "*"')
    .option('--hot-days <days>', 'whole days older than this move to the cold tier', wholeNumber(0))
    .option('--delete-days <days>', 'whole days older than this are deleted, or never', readDays)
    .option('--hold', 'legal hold: nothing is moved, deleted or erased')
    .option('--no-hold', 'lift the legal hold')
    .option('--yes', 'do not ask')
    .option('--json', 'print it as JSON')
    .action((tenant: string, options: Options) => set(context, tenant, options));
  withExamples(command, [
    'svcctl retention policy set TX --hot-days 7',
    'svcctl retention policy set "*" --hot-days 3 --delete-days 365',
    'svcctl retention policy set TX --hold',
    'svcctl retention policy set TX --delete-days never --no-hold --yes',
  ]);
}

async function set(context: Context, tenant: string, options: Options): Promise<void> {
  const { hotDays, deleteDays, hold } = options;
  if (hotDays === undefined && deleteDays === undefined && hold === undefined) {
    throw new AppError('usage_invalid', {
      detail: 'Say what to set: --hot-days, --delete-days, --hold or --no-hold.',
    });
  }
  const client = await context.connect();
  const params = { tenant };
  const now = await client.json('GET /retention/policies/:tenant', { params });
  const change: Change = {
    hot_days: hotDays ?? now.hot_days,
    delete_days:
      deleteDays === undefined ? now.delete_days : deleteDays === 'never' ? null : deleteDays,
    hold: hold ?? now.hold,
  };
  await askBeforeMoreGoes(context, client, { tenant, now, change, yes: options.yes });
  const made = await client.json('PUT /retention/policies/:tenant', { params, body: change });
  await printDetails(context, JSON.stringify(made), {
    json: options.json,
    fields: policyFields,
    lines: () => nameValueLines(context, policyRows(made, context.io.now())),
  });
  context.hint('It acts at the next run. What that will do: svcctl retention plan');
}

/** Tells what a shorter life or a lifted hold would delete, and asks. */
async function askBeforeMoreGoes(
  context: Context,
  client: Client,
  {
    tenant,
    now,
    change,
    yes,
  }: { tenant: string; now: Policy; change: Change; yes?: true | undefined },
): Promise<void> {
  const { delete_days: deleteDays, hold } = change;
  if (deleteDays === null || hold) return;
  const isShorter = now.delete_days === null || deleteDays < now.delete_days;
  if (!isShorter && !now.hold) return;
  const due = await measureDue(context, client, { tenant, deleteDays });
  if (due.count === 0) return;
  context.note(`The next run would DELETE ${dueText(due)}.`);
  await confirm(context, yes, {
    question: `Set it all the same?`,
    act: 'Set it',
    refused: 'The policy is as it was.',
  });
}

function readDays(text: string): number | 'never' {
  if (text === 'never') return 'never';
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It is neither a whole number of days from 1 on, nor never.');
}
