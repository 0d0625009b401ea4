import { formatDigest } from '../../kernel/digest.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Triple } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { ProblemKind } from '../values.ts';
import { type Claimed, type LiveSegment, saveProgress, type VerifyProgress } from './queries.ts';

/** The most problems that a verification lists, and how often its progress is stored. */
const listedProblems = 1000;
const saveMillis = 1000;

/** What a verification has found so far, and how far it is. */
export type Report = {
  setTotals(totals: { segments: number; bytes: number }): void;
  /** Adds to what is done, and stores it at most once a second. Throws VerificationTaken. */
  advance(done: { segments?: number; bytes?: number; records?: number }): Promise<void>;
  /** Counts `count` problems and lists the given ones, as far as there is room. */
  add(problems: readonly VerifyProblem[], count?: number): void;
  save(): Promise<void>;
};

/** Says that another process works on the verification by now, so that this one has to stop. */
export class VerificationTaken extends Error {}

/** Creates a report with nothing in it. `now` is in milliseconds. */
export function createReport(db: Queryable, claimed: Claimed, now: () => number): Report {
  const problems: VerifyProblem[] = [];
  const progress: VerifyProgress = {
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

/** A triple for readers, such as "10 records, 4,810 bytes, digest 00c1…". */
export function describeTriple({ count, bytes, digest }: Triple): string {
  const records = count === 1 ? '1 record' : `${number(count)} records`;
  return `${records}, ${number(bytes)} bytes, digest ${formatDigest(BigInt(digest))}`;
}

/** A problem of a whole segment, not of one of its days. */
export function segmentProblem(
  kind: ProblemKind,
  segment: LiveSegment,
  message: string,
): VerifyProblem {
  const { tenant, object_key, first_day, last_day } = segment;
  return { kind, tenant, object_key, store: null, first_day, last_day, message };
}

/** What an unreadable segment means, and what to do about it. */
export function restoreAdvice(segment: LiveSegment): string {
  const { count, first_day, last_day } = segment;
  const days = first_day === last_day ? `of ${first_day}` : `of ${first_day} … ${last_day}`;
  return `Reads of its ${number(count)} records ${days} fail. Put the object back from a copy with SHA-256 ${segment.sha256.toString('hex')}, then verify again.`;
}

/** What to do about wrong counters or a wrong catalogue. */
export const counterAdvice =
  'Nothing that the service does leads here: compare with a backup of the database before anything is moved, deleted or erased, and restore the row.';

/** A number for readers, such as 1,234,567. */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
