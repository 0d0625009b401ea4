import type { IngestAnswer, IngestProgress } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { shellQuote } from '../format.ts';
import { printObject } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { isBusy, maxTries } from '../retry.ts';
import { createTable, noteTable } from '../table.ts';
import { openUpload, sendRecords, type Upload } from '../upload.ts';
import { verb } from '../verb.ts';
import { lintFile } from './records-lint.ts';

type IngestOptions = { json?: true | undefined };

export const ingest = verb({
  summary: 'store records of a file',
  description:
    'Stores records: NDJSON (one record a line) of any length, or one JSON batch {"records": […]} from a .json file; either may be gzip-compressed (.gz). Storing a record again does no harm. `svcctl records lint` checks a file first.',
  argument: ['<file>', 'the file, or - for NDJSON from stdin'],
  examples: [
    'svcctl records ingest records.ndjson',
    'svcctl records ingest records.ndjson.gz --json',
    'zcat part-*.gz | svcctl records ingest -',
  ],
  options: [
    ['--json', 'print the answer as JSON'],
    ['--dry-run', 'only check, as `records lint --remote` does: nothing is stored'],
  ],
  act: (context, options, file) =>
    options.dryRun
      ? lintFile(context, { remote: true, json: options.json }, file)
      : storeFile(context, options, file),
});

async function storeFile(context: Context, options: IngestOptions, file: string): Promise<void> {
  const upload = await openUpload(context.io, file);
  const client = await context.connect();
  let text: string;
  try {
    text = await sendRecords(context, client, upload);
  } catch (error) {
    if (error instanceof ApiError) await explain(context, error, { ...options, upload });
    throw error;
  }
  await report(context, text, { ...options, upload });
}

/** Prints what was stored before a stream broke off, and adds what to do about it. */
async function explain(
  context: Context,
  error: ApiError,
  { json, upload }: IngestOptions & { upload: Upload },
): Promise<void> {
  // What came from stdin cannot be sent again, as a file can.
  if (!upload.isRepeatable && isBusy(error)) {
    error.advice.push(
      `A file is tried again up to ${maxTries} times; stdin cannot be. Send it again: what is stored already does no harm.`,
    );
  }
  if (!isProgress(error.problem)) return;
  const { accepted, duplicates, rejected, rejected_count, lines_read, next_line, next_byte } =
    error.problem;
  const progress = {
    accepted,
    duplicates,
    rejected,
    rejected_count,
    lines_read,
    next_line,
    next_byte,
  };
  await printAnswer(context, JSON.stringify(progress), progress, { json, upload });
  if (next_line === 0) return;
  // `next_line` counts from 0, editors and `tail` count lines from 1.
  const next = next_line + 1;
  error.advice.push(
    `What comes before line ${next} is stored or rejected: the next attempt may begin there.`,
  );
  if (upload.path !== null && !upload.isCoded) {
    error.advice.push(`tail -n +${next} ${shellQuote(upload.path)} | svcctl records ingest -`);
  }
}

function isProgress(problem: Readonly<Record<string, unknown>>): problem is IngestProgress {
  const { accepted, rejected, next_line: next } = problem;
  return typeof accepted === 'number' && Array.isArray(rejected) && typeof next === 'number';
}

type Printing = IngestOptions & { upload: Upload };

async function printAnswer(
  context: Context,
  text: string,
  answer: IngestAnswer,
  { json, upload }: Printing,
): Promise<void> {
  if (json) await printObject(context, text, json);
  else await createTable(context, answerColumns).write([answer]);
  noteRejected(context, answer, upload);
}

/** Tells what was rejected of a file, and why. */
export function noteRejected(
  context: Context,
  answer: Pick<IngestAnswer, 'rejected' | 'rejected_count'>,
  { isBatch } = { isBatch: false },
): void {
  if (answer.rejected_count === 0) return;
  noteTable(context, isBatch ? batchRejectColumns : lineRejectColumns, answer.rejected);
  const unlisted = answer.rejected_count - answer.rejected.length;
  if (unlisted > 0) context.note(`… and ${formatCount(unlisted)} more`);
}

async function report(context: Context, text: string, printing: Printing): Promise<void> {
  const answer = parseAnswer(text) as IngestAnswer;
  await printAnswer(context, text, answer, printing);
  if (answer.rejected_count === 0) return;
  const stored = answer.accepted + answer.duplicates;
  const total = stored + answer.rejected_count;
  const rest = stored === 0 ? 'None was stored' : 'The others are stored';
  throw new AppError('records_rejected', {
    detail: `${formatCount(answer.rejected_count)} of ${numberOf(total, 'record')} rejected. ${rest}; mend these and send the file again.`,
  });
}

const { count } = columnsOf<IngestAnswer>();
const answerColumns = [
  count('ACCEPTED', 'accepted'),
  count('DUPLICATES', 'duplicates'),
  count('REJECTED', 'rejected_count'),
];

const reject = columnsOf<IngestAnswer['rejected'][number]>();
/** A message is not cut: its end says what to do. */
const reasonColumns = [reject.word('CODE', 'code'), reject.word('MESSAGE', 'message')];
/** Editors count lines from 1, the API from 0. */
const lineRejectColumns = [
  reject.word('LINE', ({ index }) => index + 1, { align: 'right' }),
  ...reasonColumns,
];
const batchRejectColumns = [reject.word('INDEX', 'index', { align: 'right' }), ...reasonColumns];
