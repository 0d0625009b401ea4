import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { withExamples } from '../../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../../output.ts';
import { walkPages } from '../../../pages.ts';
import { type Policy, policyColumns, policyFields } from '../../../retention/policies.ts';

export function addPolicyLs(policy: Command, context: Context): void {
  const command = policy
    .command('ls')
    .summary('list the policies')
    .description('Lists the default (*) and the tenants that have a policy of their own.')
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => listPolicies(context, options));
  withExamples(command, [
    'svcctl retention policy ls',
    'svcctl retention policy ls --json tenant,hold',
  ]);
}

async function listPolicies(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const printer = createRowPrinter<Policy>(context, {
    columns: policyColumns(context.io.now()),
    fields: policyFields,
    json,
  });
  const client = await context.connect();
  for await (const page of walkPages(context.io, client, {
    route: 'GET /retention/policies',
    query: {},
  })) {
    await printer.write(page.rows);
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  context.hint('* = all without one of their own · change: svcctl retention policy set TENANT');
}
