import type { DryRunAnswer, DryRunSummary, IngestAnswer } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { createRowPrinter, type JsonOption } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { interrupted } from '../retry.ts';
import { noteTable } from '../table.ts';
import { openUpload, sendRecords, type Upload, uploadProgress } from '../upload.ts';
import { jsonOption, verb } from '../verb.ts';

type LintOptions = { remote?: true; json?: JsonOption; ndjson?: true };

type Finding = {
  severity: 'error' | 'warning';
  index: number;
  code: string;
  path: string | null;
  tenant: string | null;
  message: string;
};
/** `line` counts from 1, as editors do; null in a batch, where `index` says which of its records. */
type Row = Finding & { line: number | null };

const fields = ['line', 'index', 'severity', 'code', 'path', 'tenant', 'message'] as const;
/** Without --json, so many findings of each code are printed, and so many tenants. */
const mostShown = 20;

export const lint = verb({
  summary: 'check the records of a file without storing them',
  description:
    'Checks records as ingest does, and names what would be refused (errors) and what would be stored but other readers choke on (warnings): integers beyond 2^53, numbers such as 1e400 or with more digits than a double keeps, very long numbers, keys with dots, deep nesting. Takes the same files as ingest. Ends with 7 when a record would be refused.',
  argument: ['<file>', 'the file, or - for NDJSON from stdin'],
  options: [
    ['--remote', 'let the service check: it knows its limits, what is stored, and the token'],
    jsonOption,
    ['--ndjson', 'print one JSON object a line'],
  ],
  answers: fields,
  notes: `
Without --remote no service is asked: the limits are those of the settings of this machine, and what a file repeats is
found within about 10,000 records. With --json or --ndjson all findings are printed; with --remote those that the
service lists, which are the first 1,000 refused records and the first 100 warnings of each code.`,
  examples: [
    'svcctl records lint records.ndjson',
    'svcctl records lint records.ndjson.gz --remote',
    'zcat part-*.gz | svcctl records lint - --ndjson',
  ],
  act: lintFile,
});

/** Checks a file, here or by the service, and prints what was found. Throws `records_rejected`. */
export async function lintFile(
  context: Context,
  options: LintOptions,
  file: string,
): Promise<void> {
  const upload = await openUpload(context.io, file);
  const findings = createFindings(context, options, upload);
  const check = options.remote ? checkRemotely : checkHere;
  const answer = await check(context, upload, findings);
  await findings.end();
  summarize(context, answer, findings.shown);
  if (!options.remote) {
    context.hint('What is stored, and what a token may write, was not looked at: --remote.');
  }
  if (answer.rejected_count === 0) return;
  const total = answer.accepted + answer.duplicates + answer.rejected_count;
  throw new AppError('records_rejected', {
    detail: `${formatCount(answer.rejected_count)} of ${numberOf(total, 'record')} would be rejected. Nothing was stored: this was a check.`,
  });
}

type Check = (
  context: Context,
  upload: Upload,
  findings: Findings,
) => Promise<IngestAnswer & DryRunSummary>;

const checkHere: Check = async (context, upload, findings) => {
  const { io } = context;
  const { openApp } = await import('../own-app.ts');
  const { settings, app } = await openApp(context);
  const progress = uploadProgress(io, upload);
  async function* chunks() {
    for await (const piece of upload.read((sent) => progress.update(sent, sent))) {
      if (io.signal.aborted) throw interrupted();
      // Between two pieces, so that however much is found waits for whoever reads it.
      await findings.flush();
      yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    }
  }
  const source = { chunks: chunks(), isStream: !upload.isBatch, isCoded: upload.isCoded };
  try {
    return await app.lintRecords(settings, source, findings.take);
  } catch (error) {
    throw io.signal.aborted ? interrupted() : (upload.readFailure() ?? error);
  } finally {
    progress.clear();
    upload.stop();
  }
};

const checkRemotely: Check = async (context, upload, findings) => {
  const client = await context.connect();
  const text = await sendRecords(context, client, upload, { dry_run: 'true' });
  const answer = parseAnswer(text) as Required<DryRunAnswer>;
  const errors = answer.rejected.map((one) => ({
    severity: 'error' as const,
    path: null,
    tenant: null,
    ...one,
  }));
  const warnings = answer.warnings.map((one) => ({ severity: 'warning' as const, ...one }));
  for (const finding of [...errors, ...warnings].sort((a, b) => a.index - b.index)) {
    findings.take(finding);
  }
  return answer;
};

type Findings = ReturnType<typeof createFindings>;

/** Prints findings: all of them as JSON, while they come; for people the first ones of each code, at the end. */
function createFindings(
  context: Context,
  { json, ndjson }: LintOptions,
  { isBatch }: Pick<Upload, 'isBatch'>,
) {
  const isAll = json !== undefined || ndjson === true;
  const printer = createRowPrinter<Row>(context, {
    columns: [isBatch ? indexColumn : lineColumn, ...columns],
    json,
    ndjson,
  });
  /** How many of each code are printed. */
  const shown = new Map<string, number>();
  let waiting: Row[] = [];
  const print = async () => {
    const rows = waiting.map((row) => JSON.stringify(row));
    waiting = [];
    await printer.write(rows);
  };
  return {
    shown,
    take: ({ index, severity, code, path, tenant, message }: Finding) => {
      const count = shown.get(code) ?? 0;
      if (!isAll && count >= mostShown) return;
      shown.set(code, count + 1);
      const line = isBatch ? null : index + 1;
      waiting.push({ line, index, severity, code, path, tenant, message });
    },
    flush: async () => (isAll ? print() : undefined),
    async end() {
      if (!isAll) waiting.sort((a, b) => a.index - b.index);
      await print();
      await printer.end();
    },
  };
}

/** Tells on stderr how many of each code and of each tenant there were. */
function summarize(
  context: Context,
  answer: IngestAnswer & DryRunSummary,
  shown: ReadonlyMap<string, number>,
): void {
  for (const { code, count } of answer.by_code) {
    const more = count - (shown.get(code) ?? 0);
    if (more > 0) context.note(`… and ${formatCount(more)} more ${code}`);
  }
  if (answer.by_code.length > 0) noteTable(context, codeColumns, answer.by_code);
  const tenants = answer.by_tenant.slice(0, mostShown);
  if (tenants.length > 0) noteTable(context, tenantColumns, tenants);
  const others = answer.by_tenant.length - tenants.length;
  if (others > 0) context.note(`… and ${numberOf(others, 'tenant')} more`);
  const { accepted, duplicates, rejected_count: refused, warning_count: warnings } = answer;
  context.note(
    [
      `${numberOf(accepted, 'record')} would be stored`,
      `${formatCount(duplicates)} stored before or repeated`,
      `${formatCount(refused)} would be refused`,
      numberOf(warnings, 'warning'),
    ].join(' · '),
  );
}

const { word } = columnsOf<Row>();
const lineColumn = word('LINE', 'line', { align: 'right' });
const indexColumn = word('INDEX', 'index', { align: 'right' });
const columns = [
  word('SEVERITY', 'severity'),
  word('CODE', 'code'),
  word('PATH', 'path'),
  word('MESSAGE', 'message'),
];

const ofCode = columnsOf<DryRunSummary['by_code'][number]>();
const codeColumns = [
  ofCode.word('CODE', 'code'),
  ofCode.word('SEVERITY', 'severity'),
  ofCode.count('RECORDS', 'count'),
];
const ofTenant = columnsOf<DryRunSummary['by_tenant'][number]>();
const tenantColumns = [
  ofTenant.text('TENANT', 'tenant'),
  ofTenant.count('ERRORS', 'errors'),
  ofTenant.count('WARNINGS', 'warnings'),
];
