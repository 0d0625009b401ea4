import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { type ExportJob, exportDetails, exportFields, followExport } from '../../exports/jobs.ts';
import { withExamples } from '../../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../output.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { nameValueLines, printDetails } from '../../webhooks/details.ts';

type Options = { watch?: true; json?: JsonOption };

export function addExportsShow(exports: Command, context: Context): void {
  const command = exports
    .command('show')
    .summary('show one export job')
    .description('Shows an export job: what was asked for, how far it is, and what its file is.')
    .argument('<id>', 'the job’s id, as svcctl exports ls prints it')
    .option('--watch', 'follow it until it has ended, then show it')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: Options) => show(context, id, options));
  withExamples(command, [
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --watch',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --json state,rows_done,rows_total,sha256',
  ]);
}

async function show(context: Context, id: string, { watch, json }: Options): Promise<void> {
  picker(json, exportFields);
  const client = await context.connect();
  const read = () => client.text('GET /exports/:id', { params: { id } });
  let text = await read();
  if (watch) {
    await followExport(context, client, parseAnswer(text) as ExportJob);
    text = await read();
  }
  await printDetails(context, text, {
    json,
    fields: exportFields,
    lines: () =>
      nameValueLines(context, exportDetails(parseAnswer(text) as ExportJob, context.io.now())),
  });
}
