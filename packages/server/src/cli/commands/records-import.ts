import { appendFile, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option } from 'commander';
import type { ImportJob, IngestAnswer } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { importFormats, type RecordField, recordFields } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { formatDuration } from '../format.ts';
import { usage } from '../help.ts';
import { type Drive, driveImport, notDriven } from '../import/drive-import.ts';
import { type FoundFile, type Importer, noteUnused, openFiles } from '../import/find-files.ts';
import { noteRejects, type Totals, totalColumns } from '../import/report.ts';
import { batchesOf, sendDays } from '../import/send-days.ts';
import { sendFile } from '../import/send-file.ts';
import { printObject } from '../output.ts';
import { createProgress, type ProgressOptions } from '../progress.ts';
import { createTable } from '../table.ts';
import { unreadable } from '../upload.ts';
import { type Own, verb } from '../verb.ts';

type Pair = readonly [field: RecordField, value: string];
const timeUnits = ['s', 'ms', 'us', 'ns'] as const;

/** An option that may be given several times, with one value each, so that files may follow it. */
function repeated<Name extends string, Value>(
  flags: `--${Name} <${string}>`,
  help: string,
  read: (text: string) => Value,
): Own<{ [N in Name]?: Value[] }> {
  return new Option(flags, help).argParser<Value[] | undefined>((text, before) => [
    ...(before ?? []),
    read(text),
  ]);
}

export const importFiles = verb({
  summary: 'store the records of Parquet, CSV or NDJSON files with any columns',
  description:
    'Stores the records of files with any columns: Parquet, CSV or NDJSON (the last two also as .gz). Columns with the name of a field of a record are that field, recorded_at is left out, and all others become keys of the enrichment, with their values to the digit. The columns of all files are checked before anything is sent. Importing files again does no harm: it says how many records are new and how many were known.',
  argument: [
    '<file...>',
    'files, folders, or patterns such as "history/**/*.parquet"; also of s3://',
  ],
  examples: [
    "svcctl records import 'history/*.parquet' --check",
    "svcctl records import 'history/*.parquet' --map occurred_at=ts --map event_id=id --set tenant=TX",
    "svcctl records import 's3://archive/2024/*.parquet?region=eu-central-1' --set tenant=TX",
    'svcctl records import sales.csv --map enrichment=payload --skip row_number --delimiter ";"',
  ],
  options: [
    repeated(
      '--map <field=column>',
      'the column that is this field of the record (repeatable)',
      pair,
    ),
    repeated('--set <field=value>', 'the value of a field in all records (repeatable)', pair),
    repeated('--skip <column>', 'leave this column out (repeatable)', (text) => text),
    repeated(
      '--number <column>',
      'a key of the enrichment whose text is a number, to the letter (repeatable)',
      (text) => text,
    ),
    ['--check', 'store nothing, and tell what would be new, known, rejected or in conflict'],
    new Option(
      '--resume <file>',
      'note in this file how far it is, and go on from there another time',
    ).conflicts('check') as Own<{ resume?: string }>,
    ['--format <format>', 'what the files are (default: as they are called)', importFormats],
    new Option('--delimiter <character>', 'what stands between the cells of CSV').default(
      ',',
    ) as Own<{ delimiter: string }>,
    ['--time-unit <unit>', 'what numbers count that stand for times, since 1970', timeUnits],
    ['--json', 'print the sums as JSON, with the first 1,000 rejected rows'],
  ],
  notes: `
Fields: ${recordFields.join(', ')}.
Times without a zone are UTC. A column that holds JSON goes in with --map enrichment=COLUMN.`,
  async act(context, options, patterns) {
    const { io } = context;
    const { delimiter, check: isCheck = false } = options;
    if (delimiter.length !== 1) throw usage('--delimiter: it is one character.');
    const startedAt = io.now();
    const app = await import('../../app.ts');
    const mapping = {
      columns: Object.fromEntries(options.map ?? []),
      values: Object.fromEntries(options.set ?? []),
      skipped: options.skip ?? [],
      ...(options.number && { numbers: options.number }),
      timeUnit: options.timeUnit,
    };
    const importer = await app.openImporter({ delimiter, mapping, signal: io.signal });
    const totals: Totals = {
      files: 0,
      rows: 0,
      accepted: 0,
      duplicates: 0,
      rejected_count: 0,
      rejected: [],
    };
    try {
      const files = await openFiles(context, importer, { patterns, format: options.format });
      const client = await context.connect();
      // A service that answers now is waited for when it goes away later.
      await client.json('GET /me', {});
      const how = { ...mapping, delimiter };
      const resume =
        options.resume === undefined
          ? undefined
          : await openResume(resolve(io.cwd, options.resume), how);
      const progress = progressOf(context, files);
      const note = (text: string) => progress.note(text);
      const work = (drive: Drive) =>
        sendAll(context, client, { importer, drive, totals, isCheck, resume, progress });
      if (isCheck) await work(notDriven(files));
      else {
        const job = await driveImport(context, client, { files, how, note }, work);
        if (job !== null) takeSums(totals, job);
      }
      progress.clear();
      if (totals.rows > 0) noteUnused(context, importer, { files, numbers: options.number ?? [] });
      if (resume !== undefined && resume.passed > 0)
        context.note(
          `note: ${numberOf(resume.passed, 'row')} were answered before, as ${options.resume} says`,
        );
    } catch (error) {
      if (!isCheck && totals.accepted > 0) {
        context.note(
          `${formatCount(totals.accepted)} new records are stored before this. Import the files again: that does no harm.`,
        );
      }
      throw error;
    } finally {
      await importer.close();
    }
    await report(context, totals, { options, elapsedMillis: io.now() - startedAt });
  },
});

type Work = {
  readonly importer: Importer;
  readonly drive: Drive;
  readonly totals: Totals;
  readonly isCheck: boolean;
  readonly resume: Resume | undefined;
  readonly progress: ReturnType<typeof progressOf>;
};

/** Sends what is not done of the files, batch by batch: days at once, then the rest of each file. */
async function sendAll(
  context: Context,
  client: Client,
  { importer, drive, totals, isCheck, resume, progress }: Work,
): Promise<void> {
  const { query } = drive;
  const firstRow = (file: FoundFile) => Math.max(drive.rowsOf(file), resume?.rowsOf(file) ?? 0);
  let seen = drive.rowsBefore;
  const note = (text: string) => progress.note(text);
  for (const batch of batchesOf(drive.files, { firstRow, isCheck })) {
    const { parts, isTyped } = batch;
    const onRows = (rows: number) => progress.add(parts[0]?.file, rows);
    const sending = { batch, totals, isCheck, query, onRows, note };
    if (isTyped) await sendDays(context, client, importer, sending);
    for (const [number, { file, from, until }] of parts.entries()) {
      if (from === firstRow(file)) resume?.pass(from - drive.rowsOf(file));
      let at = from;
      const onDone = (row: number, answer?: IngestAnswer) => {
        const rows = row - at;
        totals.rows += rows;
        at = row;
        drive.note(file, { row, isTyped }, { rows, ...(answer && { answer }) });
      };
      if (!isTyped || (await importer.stage.countRest(number)) > 0) {
        await sendFile(context, client, {
          ...{ file, totals, isCheck, query, note },
          firstRow: from,
          rest: isTyped ? number : undefined,
          onRows: (rows) => progress.show(file, seen + rows),
          async onAnswered(row, answer) {
            onDone(row, answer);
            await drive.tell();
            await resume?.note(file, row);
          },
        });
      }
      if (isTyped && until !== null) onDone(until);
      if (isTyped && until !== file.source.rows) continue;
      drive.note(file, { row: 'end', isTyped }, { rows: 0 });
      seen += file.source.rows ?? at;
      totals.files += 1;
    }
    await drive.tell();
    for (const { file, until } of parts) if (isTyped) await resume?.note(file, until ?? 0);
  }
}

/** The sums of the whole job, in place of those of this run. */
function takeSums(totals: Totals, job: ImportJob): void {
  totals.files = job.files;
  totals.rows = job.rows;
  totals.accepted = job.stored + job.cold;
  totals.duplicates = job.known ?? 0;
  totals.rejected_count = job.rejected;
}

function pair(text: string): Pair {
  const at = text.indexOf('=');
  const field = recordFields.find((each) => each === text.slice(0, at));
  if (field !== undefined && at + 1 < text.length) return [field, text.slice(at + 1)];
  throw usage(
    `"${text}" does not say ${at < 0 ? 'FIELD=…' : 'a field of a record'}: ${recordFields.join(', ')}.`,
  );
}

/** `3 of 900 2024-03.parquet  ██████░░░░  31 %  364,120 of 512,991 rows  48,000 rows/s`. */
function progressOf(context: Context, files: readonly FoundFile[]) {
  const totals = files.map(({ source }) => source.rows);
  const total = totals.reduce<number>((sum, rows) => sum + (rows ?? 0), 0);
  const bar: ProgressOptions = {
    label: '',
    total: totals.includes(null) ? 0 : total,
    describe: (done) =>
      bar.total === 0
        ? numberOf(done, 'row')
        : `${formatCount(done)} of ${numberOf(bar.total, 'row')}`,
    speed: (perSecond) => `${formatCount(perSecond)} rows/s`,
  };
  const progress = createProgress(context.io, bar);
  let shown = 0;
  const show = (file: FoundFile, rows: number) => {
    // Rows of whole days come before all others, of all files of a batch.
    shown = Math.max(shown, rows);
    bar.label = `${formatCount(files.indexOf(file) + 1)} of ${formatCount(files.length)} ${file.name}`;
    progress.update(shown, shown);
  };
  return {
    show,
    add(file: FoundFile | undefined, rows: number) {
      if (file !== undefined) show(file, shown + rows);
    },
    note(text: string) {
      progress.clear();
      context.note(text);
    },
    clear: () => progress.clear(),
  };
}

/** Prints the sums, and what is rejected. Throws `records_rejected`. */
async function report(
  context: Context,
  totals: Totals,
  {
    options: { check, json },
    elapsedMillis,
  }: { options: { check?: true; json?: true }; elapsedMillis: number },
): Promise<void> {
  if (json) await printObject(context, JSON.stringify(totals), json);
  else await createTable(context, totalColumns).write([totals]);
  noteRejects(context, totals);
  const { files, rows, accepted, duplicates, rejected_count: rejected } = totals;
  const is = check ? 'would be ' : '';
  if (rejected > 0) {
    const rest = check ? 'Nothing was stored' : 'The others are stored';
    throw new AppError('records_rejected', {
      detail: `${formatCount(rejected)} of ${numberOf(rows, 'row')} ${check ? 'would be ' : ''}rejected. ${rest}; mend these and import the files again.`,
    });
  }
  context.note(
    `✓ ${numberOf(files, 'file')}, ${numberOf(rows, 'row')}: ${formatCount(accepted)} ${is}new, ${formatCount(duplicates)} known · ${formatDuration(elapsedMillis)}`,
  );
}

/** How far earlier runs of an import came, as a file says it. */
type Resume = {
  /** How many rows of a file were stored or rejected before; 0 when it is another file by now. */
  rowsOf(file: FoundFile): number;
  /** Rows that this run passed over because of it. */
  readonly passed: number;
  pass(rows: number): void;
  /** Notes that as many rows of a file were answered. */
  note(file: FoundFile, rows: number): Promise<void>;
};

/** A line of the file: rows of one that had this identity. */
type Line = { file: string; identity: string; rows: number };

/**
 * Reads the file that `--resume` names, which is made when it is not there. Its first line says how columns were mapped:
 * with another mapping the rows would be other records. A line that is not whole is what a kill left of it; what it told
 * is sent again. Throws `usage_invalid`, `file_unreadable`.
 */
async function openResume(path: string, mapping: object): Promise<Resume> {
  const head = JSON.stringify(mapping);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw unreadable(path, error);
  });
  const append = async (line: string) => {
    await appendFile(path, line, { mode: 0o600 }).catch((error: unknown) => {
      throw new AppError('file_unreadable', {
        detail: `${path} cannot be written: ${(error as Error).message}.`,
        cause: error,
      });
    });
  };
  const [first = '', ...lines] = text.split('\n');
  if (text === '') await append(`${head}\n`);
  else if (first !== head) {
    throw usage(`--resume: ${path} is of an import with other options. Give another file.`);
  }
  // A line that was cut off ends here, so that the next one is whole.
  else if (!text.endsWith('\n')) await append('\n');
  const known = new Map<string, Line>();
  for (const line of lines) {
    const read = parseLine(line);
    if (read !== null) known.set(read.file, read);
  }
  let passed = 0;
  return {
    get passed() {
      return passed;
    },
    pass(rows) {
      passed += rows;
    },
    rowsOf({ path: file, source }) {
      const line = known.get(file);
      return line?.identity === source.identity ? line.rows : 0;
    },
    note: ({ path: file, source: { identity } }, rows) =>
      append(`${JSON.stringify({ file, identity, rows } satisfies Line)}\n`),
  };
}

function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Line>;
    return typeof line.file === 'string' && Number.isSafeInteger(line.rows) ? (line as Line) : null;
  } catch {
    return null;
  }
}
