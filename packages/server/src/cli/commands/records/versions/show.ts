import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { findVersion, versionFields, versionLines } from '../../../datasets/versions.ts';
import { withExamples } from '../../../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../../../output.ts';
import { printDetails } from '../../../webhooks/details.ts';

type Options = { tenant?: string; json?: JsonOption };

export function addVersionsShow(versions: Command, context: Context): void {
  const command = versions
    .command('show')
    .summary('show one dataset version, with its slices and splits')
    .description('Shows a dataset version: what was frozen, its splits, and what is left of it.')
    .argument('<version>', 'its id; with --tenant also its name')
    .option('--tenant <tenant>', 'the tenant among whose versions the name is looked up')
    .option(jsonFlags, jsonHelp)
    .action((word: string, options: Options) => show(context, word, options));
  withExamples(command, [
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions show 2026-q1 --tenant TX',
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p --json count,digest,splits',
  ]);
}

async function show(context: Context, word: string, { tenant, json }: Options): Promise<void> {
  picker(json, versionFields);
  const client = await context.connect();
  const version = await findVersion(context, client, { word, tenant });
  await printDetails(context, JSON.stringify(version), {
    json,
    fields: versionFields,
    lines: () => versionLines(context, version),
  });
}
