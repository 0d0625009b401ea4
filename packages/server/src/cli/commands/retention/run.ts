import type { Command } from 'commander';
import type { Client } from '../../client.ts';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { printObject } from '../../output.ts';
import { checkDate } from '../../retention/days.ts';
import {
  amount,
  type PlanScope,
  type PlanTotals,
  totalsText,
  walkPlan,
} from '../../retention/plan.ts';
import { assertDone, followRun, type Run, runFields, tellEnd } from '../../retention/runs.ts';

type Options = PlanScope & { deleteVersioned?: true; wait: boolean; yes?: true; json?: true };

export function addRetentionRun(retention: Command, context: Context): void {
  const command = retention
    .command('run')
    .summary('move and delete now what the policies say')
    .description(
      'Does now what the policies say: first it tells what, and asks if anything would be deleted; then it\nshows the progress. Ctrl-C leaves the run at work.',
    )
    .option('--tenant <tenant>', 'only this tenant')
    .option('--before <date>', 'only days before this one, as 2026-03-05 (UTC)')
    .option('--delete-versioned', 'delete what is due of dataset versions too')
    .option('--no-wait', 'print the run’s id and leave it at work')
    .option('--yes', 'do not ask')
    .option('--json', 'print the run as JSON')
    .action((options: Options) => startRun(context, options));
  withExamples(command, [
    'svcctl retention run',
    'svcctl retention run --tenant TX --before 2001-05-01',
    'svcctl retention run --yes --no-wait',
    'svcctl retention run --tenant TX --delete-versioned',
  ]);
}

async function startRun(context: Context, options: Options): Promise<void> {
  const { tenant, before, json } = options;
  checkDate('--before', before);
  const client = await context.connect();
  await announce(context, client, options);
  const started = await client.json('POST /retention/run', {
    body: { tenant, before, delete_versioned: options.deleteVersioned },
  });
  if (!options.wait) {
    if (json) await print(context, started);
    else await context.out.write(`${started.id}\n`);
    context.hint('It is at work. Look: svcctl retention moves');
    return;
  }
  const run = await followRun(context, client, started);
  if (json) await print(context, run);
  tellEnd(context, run);
  await assertDone(client, run);
}

/** Says what the plan says, and asks before anything is deleted. */
async function announce(context: Context, client: Client, options: Options): Promise<void> {
  for await (const { totals, problem } of walkPlan(context, client, options)) {
    context.note(totalsText(totals));
    if (problem !== null) context.note(problem);
    const doomed = [totals.delete, ...(options.deleteVersioned ? [totals.versioned] : [])];
    if (doomed.some(({ count }) => count > 0)) {
      await confirm(context, options.yes, {
        question: deletionQuestion(totals, options),
        act: 'Delete',
        refused: 'Nothing was moved or deleted.',
      });
    }
    return;
  }
}

function deletionQuestion(totals: PlanTotals, { deleteVersioned }: Options): string {
  const gone = totals.delete.count === 0 ? [] : [amount(totals.delete)];
  if (deleteVersioned && totals.versioned.count > 0) {
    gone.push(`${amount(totals.versioned)} that DATASET VERSIONS keep`);
  }
  return `Delete ${gone.join(', and ')} for good?`;
}

async function print(context: Context, run: Run): Promise<void> {
  await printObject(context, JSON.stringify(run), { json: true, fields: runFields });
}
