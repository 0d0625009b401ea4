import type { Command } from 'commander';
import { loadSettings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';
import { createRowPrinter, printObject } from '../output.ts';

type App = typeof import('../../app.ts');
type Recounted = Awaited<ReturnType<App['recountRecords']>>;

const fields = [
  'dry_run',
  'tenants',
  'wrong',
  'problems',
  'left',
] as const satisfies readonly (keyof Recounted)[];

type Options = { tenant?: string; dryRun?: true; yes?: true; json?: true };

export function addRecordsRecount(records: Command, context: Context): void {
  const command = records
    .command('recount')
    .summary('make counters anew that are not what they count')
    .description(
      'Compares the counters of days, months, stores and tenants with the hot records and the catalogue of cold ones, makes those anew that differ, and compares once more. It works on the database of the settings itself. While the counters of a tenant are made anew, no records are stored or moved. The exit code is 1 when a difference is left.',
    )
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--dry-run', 'only tell what is wrong')
    .option('--yes', 'do not ask')
    .option('--json', 'print what was wrong as JSON')
    .action((options: Options) => recount(context, options));
  withExamples(command, [
    'svcctl records recount --dry-run',
    'svcctl records recount --tenant TX --yes',
  ]);
}

async function recount(context: Context, options: Options): Promise<void> {
  const { tenant = null, dryRun: isDry = false, yes, json } = options;
  const { env, signal } = context.io;
  const settings = loadSettings(env);
  if (!isDry) {
    await confirm(context, yes, {
      question: 'Make counters anew that are not what they count?',
      act: 'Recount',
      refused: 'Nothing was changed.',
    });
  }
  const app = await import('../../app.ts');
  const log = app.createLog(env.SVC_LOG_LEVEL ? settings.logLevel : 'warn');
  const done = await app.recountRecords(settings, log, { tenant, isDry, signal });
  if (json) await printObject(context, JSON.stringify(done), { json, fields });
  else await printProblems(context, done);
  const { tenants, wrong, left } = done;
  const counters = numberOf(wrong, 'counter');
  const were = `${counters} of ${numberOf(tenants, 'tenant')}`;
  if (wrong === 0) context.note(`Right: ${numberOf(tenants, 'tenant')}, no difference.`);
  else if (isDry) context.note(`Wrong: ${were}. Without --dry-run they are made anew.`);
  else if (left === 0) context.note(`Made anew: ${were}. No difference is left.`);
  if (isDry || left === 0) return;
  throw new AppError('verify_failed', {
    detail: `${numberOf(left, 'difference')} are left after the recount. Run svcctl retention verify: it names them.`,
  });
}

async function printProblems(context: Context, { problems }: Recounted): Promise<void> {
  const printer = createRowPrinter<Recounted['problems'][number]>(context, {
    fields: ['tenant', 'message'],
    json: undefined,
    columns: [
      { title: 'TENANT', value: (row) => row.tenant },
      { title: 'WRONG', isElastic: true, value: (row) => row.message },
    ],
  });
  await printer.write(problems.map((row) => JSON.stringify(row)));
  await printer.end();
}
