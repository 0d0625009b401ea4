import { type Command, Option } from 'commander';
import type { ExportState } from '../../../contract.ts';
import type { Context } from '../../context.ts';
import { type ExportJob, exportColumns, exportFields } from '../../exports/jobs.ts';
import { exportStates } from '../../exports/words.ts';
import { formatNumberOf } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';

type Options = { tenant?: string; state?: ExportState; limit?: number; json?: JsonOption };

const rowsByDefault = 50;

export function addExportsLs(exports: Command, context: Context): void {
  const command = exports
    .command('ls')
    .summary('list the export jobs')
    .description('Lists the export jobs, the latest first.')
    .option('--tenant <tenant>', 'only of this tenant')
    .addOption(new Option('--state <state>', 'only in this state').choices(exportStates))
    .option('--limit <jobs>', `jobs, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listExports(context, options));
  withExamples(command, [
    'svcctl exports ls',
    'svcctl exports ls --tenant TX --state running',
    'svcctl exports ls --json id,state,percent,eta_s',
  ]);
}

async function listExports(
  context: Context,
  { json, limit = rowsByDefault, ...query }: Options,
): Promise<void> {
  const printer = createRowPrinter<ExportJob>(context, {
    columns: exportColumns(context.io.now()),
    fields: exportFields,
    json,
  });
  const client = await context.connect();
  let printed = 0;
  let hasMore = false;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /exports',
    query,
    most: limit,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
    hasMore = page.nextCursor !== null;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  if (printed === 0) {
    context.hint('No exports that match. Start one: svcctl analytics export --async');
    return;
  }
  const more = hasMore ? ' · older ones: --limit' : '';
  context.hint(`${formatNumberOf(printed, 'export')}${more} · its file: svcctl exports get ID`);
}
