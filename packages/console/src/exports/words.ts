import type { ExportJob, ExportRequest, Manifest, Schedule } from '../api/types.ts';
import type { ExportState } from '../api/values.ts';
import { formatAge, formatCount } from '../ui/format.ts';

/** What each state means for the file, in a sentence. */
export const stateWords: Readonly<Record<ExportState, string>> = {
  queued: 'waits for its turn',
  running: 'its file is being written, part by part',
  waiting: 'goes on by itself when the store answers',
  completed: 'its file was read back and equals the slice',
  failed: 'ended without a file',
  cancelled: 'stopped; nothing of its file is kept',
  erased: 'records of its slice were erased, and its file was removed',
};

/** Whether the job is under way, so that its numbers still change. */
export function isOpen({ state }: Pick<ExportJob, 'state'>): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting';
}

/** As much as the browser's clock may be behind, and as long as a run that is due may take to begin. */
const dueMillis = { early: 15_000, late: 60_000 };

/** Whether a schedule has a run under way, or one that is due and has most likely not begun yet. */
export function hasRun(schedule: Pick<Schedule, 'state' | 'due_at'>, nowMillis: number): boolean {
  const { state, due_at: due } = schedule;
  if (state === 'running' || due === null) return state === 'running';
  const lateMillis = nowMillis - Date.parse(due);
  return lateMillis >= -dueMillis.early && lateMillis < dueMillis.late;
}

type Progress = Pick<ExportJob, 'state' | 'rows_done' | 'rows_total'>;

/** Rows that are done: `364,120 of 512,991`, or only `512,991` once the file is complete. */
export function rowsText({ state, rows_done: done, rows_total: total }: Progress): string {
  if (state === 'completed' || state === 'erased') return formatCount(done);
  return total === null ? formatCount(done) : `${formatCount(done)} of ${formatCount(total)}`;
}

/** Whole percents, rounded down, so that 100 % means that all rows are there. */
export function percentText({ percent }: Pick<ExportJob, 'percent'>): string {
  return percent === null ? '–' : `${Math.floor(percent)} %`;
}

/** Rate and time left at that rate: `412,310/s · 3 s`. Before the first rows there is no rate yet. */
export function paceText(job: Pick<ExportJob, 'rows_per_second' | 'eta_s'>): string {
  const { rows_per_second: rate, eta_s: seconds } = job;
  const known = rate === null || rate === 0 ? [] : [`${formatCount(rate)}/s`];
  if (seconds !== null) known.push(formatAge(seconds * 1000));
  return known.join(' · ') || '–';
}

/** The body of the request that made the job, typed: the schema of a job says only that it is an object. */
export function requestOf({ request }: Pick<ExportJob, 'request'>): ExportRequest {
  return request as ExportRequest;
}

/** A sentence that says by what the file was compared with the slice. */
export function proofText({ proof }: Pick<Manifest, 'proof'>): string {
  switch (proof) {
    case 'content':
      return 'The finished file was read back, and rows and digest were computed anew from what is in it: they are those of the slice at the moment it was asked for.';
    case 'sample':
      return 'Rows and digest of the records as they were encoded are those of the slice at the moment it was asked for. One in sixteen parts was read back and computed anew from what is in it, and all bytes are stored as they were encoded, by their SHA-256.';
    case 'rows':
      return 'As many rows were encoded as the slice had at the moment it was asked for, and all bytes are stored as they were encoded, by their SHA-256. The columns of the file do not hold all that a digest needs, so the digest is that of the records as they were read.';
  }
}

/** How often a process took the job up; more than once means that it was interrupted, and went on. */
export function attemptsText({ attempts }: Pick<ExportJob, 'attempts'>): string {
  if (attempts === 0) return 'not yet taken up';
  if (attempts === 1) return 'taken up once';
  return `taken up ${formatCount(attempts)} times: it went on from its last finished part`;
}
