import { type Command, Option } from 'commander';
import { type ExportState, exportStates } from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Context } from '../context.ts';
import {
  type ExportJob,
  exportDetails,
  exportFields,
  exportJobColumns,
  followExport,
  isUnderWay,
} from '../exports/jobs.ts';
import { formatNumberOf } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { nameValueLines, printDetails } from '../webhooks/details.ts';
import { assertAllDone, tryEachId } from '../webhooks/retry-all.ts';

type LsOptions = { tenant?: string; state?: ExportState; limit?: number; json?: JsonOption };

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
    .action((options: LsOptions) => listExports(context, options));
  withExamples(command, [
    'svcctl exports ls',
    'svcctl exports ls --tenant TX --state running',
    'svcctl exports ls --json id,state,percent,eta_s',
  ]);
}

async function listExports(
  context: Context,
  { json, limit = rowsByDefault, ...query }: LsOptions,
): Promise<void> {
  const columns = exportJobColumns(context.io.now());
  const output = { columns, fields: exportFields, json };
  await printList(context, output, {
    route: 'GET /exports',
    query,
    most: limit,
    tell({ printed, hasMore }) {
      if (printed === 0) return 'No exports that match. Start one: svcctl analytics export --async';
      const more = hasMore ? ' · older ones: --limit' : '';
      return `${formatNumberOf(printed, 'export')}${more} · its file: svcctl exports get ID`;
    },
  });
}

type ShowOptions = { watch?: true; json?: JsonOption };

export function addExportsShow(exports: Command, context: Context): void {
  const command = exports
    .command('show')
    .summary('show one export job')
    .description('Shows an export job: what was asked for, how far it is, and what its file is.')
    .argument('<id>', 'the job’s id, as svcctl exports ls prints it')
    .option('--watch', 'follow it until it has ended, then show it')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: ShowOptions) => show(context, id, options));
  withExamples(command, [
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --watch',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --json state,rows_done,rows_total,sha256',
  ]);
}

async function show(context: Context, id: string, { watch, json }: ShowOptions): Promise<void> {
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

type GetOptions = {
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
      'Downloads the file of an export job. A download that breaks off goes on by itself, and a later run goes on with FILE.part. The file appears under its name only when its size, its SHA-256 and the manifest are those of the job.',
    )
    .argument('<id>', 'the job’s id, as svcctl exports ls prints it')
    .option('--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)')
    .option('--force', 'replace files that exist')
    .option('--manifest <file>', 'write the manifest there')
    .option('--wait', 'wait for a job that is at work still')
    .option('--json', 'print what was written as JSON; needs --out FILE')
    .action((id: string, options: GetOptions) => get(context, id, options));
  withExamples(command, [
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --wait --out tx.parquet --manifest tx.manifest.json',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --out - | zstd -d | wc -l',
  ]);
}

/**
 * Downloads the file of a job; with --wait it first waits until the job has ended. Without --out the file goes to
 * stdout, or on a terminal into a file of the suggested name.
 */
async function get(context: Context, id: string, options: GetOptions): Promise<void> {
  const [{ checkNames, requestOf }, { getFile }] = await Promise.all([
    import('../exports/download.ts'),
    import('../exports/get-file.ts'),
  ]);
  const request = requestOf(context, options);
  const { manifest = null } = options;
  if (manifest === '-') {
    throw new AppError('usage_invalid', { detail: '--manifest needs the name of a file.' });
  }
  await checkNames(context, [request.out, manifest], request.mayReplace);
  const client = await context.connect();
  const found = await client.json('GET /exports/:id', { params: { id } });
  const job =
    options.wait && isUnderWay(found) ? await followExport(context, client, found) : found;
  await getFile(context, client, { job, request, manifest });
}

type VerifyOptions = { file?: string; manifest?: string; json?: JsonOption };

export function addExportsVerify(exports: Command, context: Context): void {
  const command = exports
    .command('verify')
    .summary('prove that a file is what its manifest says')
    .description(
      'Reads the file of an export job whole, and parses all of its rows again: rows, digest and SHA-256 of each part must be those of the manifest. The file is read from the service, part by part, or from --file; the work is done here, and needs room for two parts in TMPDIR. With --file and --manifest it needs no service. Ends with 1 when anything differs, and tells what.',
    )
    .argument('[id]', 'the job’s id, as svcctl exports ls prints it')
    .option('--file <file>', 'the file, as it was downloaded')
    .option('--manifest <file>', 'its manifest, as svcctl exports get --manifest wrote it')
    .option(jsonFlags, jsonHelp)
    .action((id: string | undefined, options: VerifyOptions) => verify(context, id, options));
  withExamples(command, [
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p --file tx.parquet',
    'svcctl exports verify --file tx.parquet --manifest tx.manifest.json',
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p --json ok,differences',
  ]);
}

async function verify(
  context: Context,
  id: string | undefined,
  { json, ...files }: VerifyOptions,
): Promise<void> {
  if (id === undefined && (files.file === undefined || files.manifest === undefined)) {
    throw new AppError('usage_invalid', {
      detail: 'Give the id of an export job, or both --file FILE and --manifest FILE.',
    });
  }
  const { verifyExport } = await import('../exports/verify.ts');
  await verifyExport(context, { id, json, ...files });
}

export function addExportsCancel(exports: Command, context: Context): void {
  const command = exports
    .command('cancel')
    .summary('cancel export jobs, or remove their files')
    .description(
      'Cancels export jobs that are queued or running. Of those that are completed, the file is removed.',
    )
    .argument('<id...>', 'ids, as svcctl exports ls prints them')
    .action((ids: string[]) => cancel(context, ids));
  withExamples(command, ['svcctl exports cancel exp_4fTq9Zx7Kq2LmN0p']);
}

async function cancel(context: Context, ids: readonly string[]): Promise<void> {
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    context.note(outcome(await client.json('DELETE /exports/:id', { params: { id } })));
  });
  assertAllDone(refused);
}

function outcome({ id, state }: ExportJob): string {
  switch (state) {
    case 'queued':
    case 'running':
    case 'waiting':
      return `Cancelling ${id}.`;
    case 'cancelled':
      return `Cancelled ${id}.`;
    case 'completed':
      return `${id} was completed. Its file is removed.`;
    case 'erased':
      return `${id} has no file any more: records of its slice were erased.`;
    case 'failed':
      return `${id} had failed already.`;
  }
}
