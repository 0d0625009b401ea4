import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';

type Options = {
  out?: string;
  force?: true;
  manifest?: string;
  wait?: true;
  json?: true;
};

export function addExportsGet(exports: Command, context: Context): void {
  const command = exports
    .command('get')
    .summary('download the file of an export job')
    .description(
      'Downloads the file of an export job. A download that breaks off goes on by itself, and a later run\ngoes on with FILE.part. The file appears under its name only when its size, its SHA-256 and the\nmanifest are those of the job.',
    )
    .argument('<id>', 'the job’s id, as svcctl exports ls prints it')
    .option('--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)')
    .option('--force', 'replace files that exist')
    .option('--manifest <file>', 'write the manifest there')
    .option('--wait', 'wait for a job that is at work still')
    .option('--json', 'print what was written as JSON; needs --out FILE')
    .action((id: string, options: Options) => get(context, id, options));
  withExamples(command, [
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --wait --out tx.parquet --manifest tx.manifest.json',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --out - | zstd -d | wc -l',
  ]);
}

async function get(context: Context, id: string, options: Options): Promise<void> {
  if (options.json && (options.out === undefined || options.out === '-')) {
    throw new AppError('usage_invalid', {
      detail: '--json needs --out FILE: stdout holds one of the two.',
    });
  }
  if (options.manifest === '-') {
    throw new AppError('usage_invalid', { detail: '--manifest needs the name of a file.' });
  }
  const [{ checkNames, getFile }, { followExport, isUnderWay }] = await Promise.all([
    import('../../exports/get-file.ts'),
    import('../../exports/jobs.ts'),
  ]);
  const request = {
    out: options.out ?? (context.isTerminal ? null : '-'),
    mayReplace: options.force === true,
    manifest: options.manifest ?? null,
    isJson: options.json === true,
  };
  await checkNames(context, request);
  const client = await context.connect();
  const found = await client.json('GET /exports/:id', { params: { id } });
  const job =
    options.wait && isUnderWay(found) ? await followExport(context, client, found) : found;
  await getFile(context, client, { job, request });
}
