import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { checkDate } from '../../retention/days.ts';
import {
  hotSpaceText,
  type PlanRow,
  type PlanScope,
  planColumns,
  planFields,
  totalsText,
  walkPlan,
} from '../../retention/plan.ts';

type Options = PlanScope & { json?: JsonOption };

export function addRetentionPlan(retention: Command, context: Context): void {
  const command = retention
    .command('plan')
    .summary('tell what a run would move and delete now')
    .description(
      'Tells what a run would move to the cold tier and what it would delete now, by tenant, to the record.',
    )
    .option('--tenant <tenant>', 'only this tenant')
    .option('--before <date>', 'only days before this one, as 2026-03-05 (UTC)')
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => plan(context, options));
  withExamples(command, [
    'svcctl retention plan',
    'svcctl retention plan --tenant TX --before 2001-05-01',
    'svcctl retention plan --json tenant,kind,count',
  ]);
}

async function plan(context: Context, { json, ...scope }: Options): Promise<void> {
  checkDate('--before', scope.before);
  const printer = createRowPrinter<PlanRow>(context, {
    columns: planColumns,
    fields: planFields,
    json,
  });
  const client = await context.connect();
  let said: string | undefined;
  let space: string | undefined;
  let fault: string | null = null;
  for await (const { rows, totals, hotSpace, problem } of walkPlan(context, client, scope)) {
    await printer.write(rows);
    fault = problem;
    if (json === undefined) said ??= totalsText(totals);
    if (hotSpace !== null) space = hotSpaceText(hotSpace);
  }
  await printer.end();
  if (fault !== null) context.note(`Nothing can be moved or deleted now. ${fault}`);
  if (said === undefined || !context.isTerminal) return;
  context.hint(`${said} · do it: svcctl retention run`);
  if (space !== undefined) context.hint(space);
}
