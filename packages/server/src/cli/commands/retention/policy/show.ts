import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { withExamples } from '../../../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../../output.ts';
import { parseAnswer } from '../../../parse-answer.ts';
import { type Policy, policyFields, policyRows } from '../../../retention/policies.ts';
import { nameValueLines, printDetails } from '../../../webhooks/details.ts';

export function addPolicyShow(policy: Command, context: Context): void {
  const command = policy
    .command('show')
    .summary('show the policy in force for a tenant')
    .description('Shows the policy in force for a tenant: its own, or else the default (*).')
    .argument('<tenant>', 'the tenant, or "*"')
    .option(jsonFlags, jsonHelp)
    .action((tenant: string, options: { json?: JsonOption }) => show(context, tenant, options));
  withExamples(command, [
    'svcctl retention policy show TX',
    'svcctl retention policy show "*" --json hot_days,delete_days',
  ]);
}

async function show(
  context: Context,
  tenant: string,
  { json }: { json?: JsonOption },
): Promise<void> {
  picker(json, policyFields);
  const client = await context.connect();
  const text = await client.text('GET /retention/policies/:tenant', { params: { tenant } });
  await printDetails(context, text, {
    json,
    fields: policyFields,
    lines: () => nameValueLines(context, policyRows(parseAnswer(text) as Policy, context.io.now())),
  });
}
