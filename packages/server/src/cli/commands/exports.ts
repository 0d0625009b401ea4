import type { FileVerdict } from '../../exports/jobs.contract.ts';
import { fieldTypeText } from '../../exports/values.ts';
import { exportFilters } from '../../exports/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { findVersion } from '../dataset-versions.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import {
  type ExportJob,
  exportFacts,
  exportJobColumns,
  followExport,
  schemaText,
} from '../exports/jobs.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import { checkDays, datasetOption, kindOption, placeOptions } from '../slice.ts';
import { jsonOption, type Verbs, verb } from '../verb.ts';

const ls = list('GET /exports', {
  summary: 'list the export jobs',
  description: 'Lists the export jobs, the latest first.',
  examples: [
    'svcctl exports ls',
    'svcctl exports ls --tenant TX --state running',
    'svcctl exports ls --json id,state,percent,eta_s',
  ],
  filters: exportFilters,
  limit: { of: 'jobs', rows: 50 },
  columns: exportJobColumns,
  below: {
    none: 'No exports that match. Start one: svcctl analytics export --async',
    one: 'export',
    next: 'its file: svcctl exports get ID',
  },
});

const show = call('GET /exports/:id', {
  summary: 'show one export job',
  description: 'Shows an export job: what was asked for, how far it is, and what its file is.',
  argument: ['<id>', 'the job’s id, as svcctl exports ls prints it'],
  examples: [
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --watch',
    'svcctl exports show exp_4fTq9Zx7Kq2LmN0p --json state,rows_done,rows_total,sha256',
  ],
  options: [['--watch', 'follow it until it has ended, then show it']],
  async read(context, client, { watch }, id) {
    const job = await client.json('GET /exports/:id', { params: { id } });
    return watch ? followExport(context, client, job) : job;
  },
  facts: exportFacts,
});

/** What the verification of a file tells. */
const verdictFields = [
  'export_id',
  'file_name',
  'ok',
  'proof',
  'rows',
  'digest',
  'bytes',
  'sha256',
  'parts',
  'differences',
] as const satisfies readonly (keyof FileVerdict)[];

/**
 * Downloads the file of a job; with --wait it first waits until the job has ended. Without --out the file goes to
 * stdout, or on a terminal into a file of the suggested name.
 */
const get = verb({
  summary: 'download the file of an export job',
  description:
    'Downloads the file of an export job. A download that breaks off goes on by itself, and a later run goes on with FILE.part. The file appears under its name only when its size, its SHA-256 and the manifest are those of the job.',
  argument: ['<id>', 'the job’s id, as svcctl exports ls prints it'],
  examples: [
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --wait --out tx.parquet --manifest tx.manifest.json',
    'svcctl exports get exp_4fTq9Zx7Kq2LmN0p --out - | zstd -d | wc -l',
  ],
  options: [
    ['--out <file>', 'the file, or - for stdout (default: a telling name; stdout in a pipe)'],
    ['--force', 'replace files that exist'],
    ['--manifest <file>', 'write the manifest there'],
    ['--wait', 'wait for a job that is at work still'],
    ['--json', 'print what was written as JSON; needs --out FILE'],
  ],
  async act(context, options, id) {
    const [{ checkNames, requestOf }, { getFile }] = await Promise.all([
      import('../exports/download.ts'),
      import('../exports/get-file.ts'),
    ]);
    const request = requestOf(context, options);
    const { manifest = null } = options;
    if (manifest === '-') {
      throw usage('--manifest needs the name of a file.');
    }
    await checkNames(context, [request.out, manifest], request.mayReplace);
    const client = await context.connect();
    const found = await client.json('GET /exports/:id', { params: { id } });
    const job = options.wait ? await followExport(context, client, found) : found;
    await getFile(context, client, { job, request, manifest });
  },
});

const verify = verb({
  summary: 'prove that a file is what its manifest says',
  description:
    'Reads the file of an export job whole, and parses all of its rows again: rows, digest and SHA-256 of each part must be those of the manifest. The file is read from the service, part by part, or from --file; the work is done here, and needs room for two parts in TMPDIR. With --file and --manifest it needs no service. Ends with 1 when anything differs, and tells what.',
  argument: ['[id]', 'the job’s id, as svcctl exports ls prints it'],
  answers: verdictFields,
  examples: [
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p',
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p --file tx.parquet',
    'svcctl exports verify --file tx.parquet --manifest tx.manifest.json',
    'svcctl exports verify exp_4fTq9Zx7Kq2LmN0p --json ok,differences',
  ],
  options: [
    ['--file <file>', 'the file, as it was downloaded'],
    ['--manifest <file>', 'its manifest, as svcctl exports get --manifest wrote it'],
    jsonOption,
  ],
  async act(context, { json, ...files }, id) {
    if (id === undefined && (files.file === undefined || files.manifest === undefined)) {
      throw usage('Give the id of an export job, or both --file FILE and --manifest FILE.');
    }
    const { verifyExport } = await import('../exports/verify.ts');
    await verifyExport(context, { id, json, ...files });
  },
});

const cancel = call('DELETE /exports/:id', {
  summary: 'cancel export jobs, or remove their files',
  description:
    'Cancels export jobs that are queued or running. Of those that are completed, the file is removed.',
  argument: ['<id...>', 'ids, as svcctl exports ls prints them'],
  examples: ['svcctl exports cancel exp_4fTq9Zx7Kq2LmN0p'],
  done: (_id, job) => outcome(job),
});

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

const schema = call('GET /exports/schema', {
  summary: 'tell which columns a typed export has',
  description:
    'Tells which columns a typed Parquet export of these records has: a sample of them is looked at. A job keeps its columns, and a dataset version those of its first typed export. What fits no column is in _rest, as JSON.',
  examples: [
    'svcctl exports schema --tenant TX --month 2026-03',
    'svcctl exports schema --tenant TX --version 2026-q1 --json',
  ],
  options: [
    ...placeOptions,
    kindOption,
    datasetOption,
    ['--version <version>', 'of this dataset version: its id or its name'],
  ],
  check: checkDays,
  async read(context, client, { version: word, ...slice }) {
    const { tenant } = slice;
    const found =
      word === undefined ? undefined : await findVersion(context, client, { word, tenant });
    const query = { ...slice, version: found?.id };
    const answer = await client.json('GET /exports/schema', { query });
    if (answer.count === 0) await noteEmptySlice(context, client, query);
    return answer;
  },
  table: ({ columns: rows }) => ({ rows, columns: schemaColumns }),
  next: (answer) => (answer.count === 0 ? null : schemaText(answer)),
});

const column = columnsOf<RouteAnswer<'GET /exports/schema'>['columns'][number]>();
const schemaColumns = [
  column.text('COLUMN', 'name', { leastWidth: 16 }),
  column.text('TYPE', ({ type }) => fieldTypeText(type), { leastWidth: 20 }),
  column.text('FIELD', 'field', { leastWidth: 16 }),
];

export const exports: Verbs = { ls, show, schema, get, verify, cancel };
