import type { Queryable } from '../../platform/postgres/database.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { type Claimed, type Progress, saveProgress } from './queries.ts';

const listedProblems = 1000;
const saveMillis = 1000;

/** What a verification has seen so far, and how far it is. */
export type Report = {
  setTotals(totals: { segments: number; bytes: number }): void;
  /** Adds to what is done, and notes it in the database at most once a second. */
  advance(done: { segments?: number; bytes?: number; records?: number }): Promise<void>;
  /** Takes `count` problems of which at most the given ones are listed. */
  add(problems: readonly VerifyProblem[], count?: number): void;
  save(): Promise<void>;
};

/** Another process works on the verification by now. */
export class VerificationTaken extends Error {}

/** `now` in milliseconds. */
export function createReport(db: Queryable, claimed: Claimed, now: () => number): Report {
  const problems: VerifyProblem[] = [];
  const progress: Progress = {
    segments_total: null,
    segments_done: 0,
    bytes_total: null,
    bytes_done: 0,
    records_done: 0,
    problem_count: 0,
    problems,
  };
  let savedAt = Number.NEGATIVE_INFINITY;

  async function save(): Promise<void> {
    savedAt = now();
    if (!(await saveProgress(db, claimed, progress))) throw new VerificationTaken();
  }
  return {
    setTotals({ segments, bytes }) {
      progress.segments_total = segments;
      progress.bytes_total = bytes;
    },
    async advance({ segments = 0, bytes = 0, records = 0 }) {
      progress.segments_done += segments;
      progress.bytes_done += bytes;
      progress.records_done += records;
      if (now() - savedAt >= saveMillis) await save();
    },
    add(found, count = found.length) {
      problems.push(...found.slice(0, listedProblems - problems.length));
      progress.problem_count += count;
    },
    save,
  };
}
