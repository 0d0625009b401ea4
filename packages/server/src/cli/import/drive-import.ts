import { createHash } from 'node:crypto';
import type { ImportJob, ImportReport, IngestAnswer } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { throughOutages } from '../retry.ts';
import type { FoundFile } from './find-files.ts';

/** How far an import is, and what is told of it to its job. */
export type Drive = {
  /** Names the job in what is sent. */
  readonly query: { readonly import?: string };
  /** The files that are not done. */
  readonly files: readonly FoundFile[];
  /** Rows of other files that are done. */
  readonly rowsBefore: number;
  /** How many rows of one of these files are done. */
  rowsOf(file: FoundFile): number;
  /** Notes what became of the next rows, before a place: what ingest answered, or without that, that they are stored. */
  note(file: FoundFile, to: Place, became: { rows: number; answer?: IngestAnswer }): void;
  /** Tells the job what was noted. Throws `job_finished` when the job has ended meanwhile. */
  tell(): Promise<void>;
};

/** A row of a file, from 0, or its end. `isTyped` says that the service was sent no rows but those that it answered. */
type Place = { readonly row: number | 'end'; readonly isTyped: boolean };

type Driving = {
  readonly files: readonly FoundFile[];
  /** How they are read: in another way, they are another import. */
  readonly how: object;
  readonly note: (text: string) => void;
};

/** So often the job is told that its command lives. */
const beatMillis = 10_000;

/**
 * Makes the import of files a job of the service, or goes on with one that has not ended, while `work` sends them. Answers
 * the job in its end; null where the service is of a release that has no such jobs. Throws `job_failed` when somebody
 * cancels it, and what `work` throws, of which the job is told.
 */
export async function driveImport(
  context: Context,
  client: Client,
  { files, how, note }: Driving,
  work: (drive: Drive) => Promise<void>,
): Promise<ImportJob | null> {
  const started = await startJob(client, files, how);
  if (started === null) {
    await work(notDriven(files));
    return null;
  }
  const { id, at_row: firstRow } = started;
  const { at_file, at_row, rows, sent, taken, rejected, conflicts } = started;
  const reached: ImportReport = { at_file, at_row, rows, sent, taken, rejected, conflicts };
  if (rows > 0) note(`note: goes on with ${id}, in which ${numberOf(rows, 'row')} are done`);
  const report = (more: Partial<ImportReport> = {}, by = client) =>
    by.json('PATCH /enrichment/imports/jobs/:id', {
      params: { id },
      body: { ...reached, ...more },
    });
  const beat = setInterval(() => void report().catch(() => {}), beatMillis);
  beat.unref();
  try {
    await work({
      query: { import: id },
      files: files.slice(at_file),
      rowsBefore: rows - firstRow,
      rowsOf: (file) => (file === files[at_file] ? firstRow : 0),
      note(file, { row, isTyped }, { rows: done, answer }) {
        addDone(reached, { done, isTyped, answer });
        const number = files.indexOf(file);
        reached.at_file = row === 'end' ? number + 1 : number;
        reached.at_row = row === 'end' ? 0 : row;
      },
      async tell() {
        const { state } = await throughOutages(context.io, note, () => report());
        if (state === 'cancelled' || state === 'completed') throw new AppError('job_finished');
      },
    });
    return await throughOutages(context.io, note, () => report({ state: 'completed' }));
  } catch (error) {
    const isEnded = codeOf(error) === 'job_finished';
    const job = isEnded ? await report() : null;
    // Another command shared it, and was done first.
    if (job?.state === 'completed') return job;
    if (job !== null) throw wasCancelled(job);
    await sayStopped(context, client, error, report);
    throw error;
  } finally {
    clearInterval(beat);
  }
}

/** Files that are sent for no job. */
export function notDriven(files: readonly FoundFile[]): Drive {
  return { query: {}, files, rowsBefore: 0, rowsOf: () => 0, note() {}, async tell() {} };
}

/** Of a release before it knew imports, and for a token of stores: each record is checked by itself. */
const withoutJob = ['route_not_found', 'whole_tenant_required'];

/** Begins a job, or finds it; null where there can be none. */
async function startJob(
  client: Client,
  files: readonly FoundFile[],
  how: object,
): Promise<ImportJob | null> {
  const named = files.map(({ path, format, source }) => [path, format, source.identity]);
  const digest = createHash('sha256')
    .update(JSON.stringify([how, named]))
    .digest('hex');
  const rows = files.map(({ source }) => source.rows);
  const total = rows.reduce((sum, of) => (sum === null || of === null ? null : sum + of), 0);
  try {
    const body = { digest, files: files.length, total };
    return await client.json('POST /enrichment/imports/jobs', { body });
  } catch (error) {
    if (error instanceof ApiError && withoutJob.includes(error.code)) return null;
    throw error;
  }
}

/** Adds what became of rows. Of a file that was staged, those that ingest was not sent are stored. */
function addDone(
  reached: ImportReport,
  { done, isTyped, answer }: { done: number; isTyped: boolean; answer: IngestAnswer | undefined },
): void {
  const {
    accepted = 0,
    duplicates = 0,
    rejected_count: rejected = 0,
    conflicts = 0,
  } = answer ?? {};
  reached.rows += done;
  reached.sent += accepted + duplicates + rejected;
  // Lines that are blank hold no record.
  reached.taken += isTyped ? done - rejected : accepted + duplicates;
  reached.rejected += rejected;
  reached.conflicts += conflicts;
}

function wasCancelled({ id, stored, cold }: ImportJob): AppError {
  return new AppError('job_failed', {
    detail: `${id} was cancelled: nothing more is sent. ${formatCount(stored + cold)} new records are stored, and stay. Run the command again to import the rest, as another job.`,
  });
}

/** Tells a job that its command stops, if that is possible within a few seconds, also when it was interrupted. */
async function sayStopped(
  { io }: Context,
  { connection }: Client,
  error: unknown,
  report: (more: Partial<ImportReport>, by: Client) => Promise<unknown>,
): Promise<void> {
  const { createClient } = await import('../client.ts');
  const last = createClient({ ...io, signal: AbortSignal.timeout(3000) }, connection);
  await report({ stopped: codeOf(error) }, last).catch(() => {});
}

function codeOf(error: unknown): string {
  return error instanceof AppError || error instanceof ApiError ? error.code : 'internal_error';
}
