import { formatDigest } from '../../kernel/digest.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Triple } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { ProblemKind } from '../values.ts';
import { type Findings, type LiveSegment, listedProblems } from './queries.ts';

/** What a share of a verification has found so far. */
export type Report = {
  readonly found: Findings;
  /** Adds to what is done. */
  advance(done: { segments?: number; bytes?: number; records?: number }): void;
  /** Counts `count` problems and lists the given ones, as far as there is room. */
  readonly add: (problems: readonly VerifyProblem[], count?: number) => void;
};

/** Creates a report with nothing in it. */
export function createReport(): Report {
  const problems: VerifyProblem[] = [];
  const found = { segments: 0, bytes: 0, records: 0, problem_count: 0, problems };
  return {
    found,
    advance({ segments = 0, bytes = 0, records = 0 }) {
      found.segments += segments;
      found.bytes += bytes;
      found.records += records;
    },
    add(some, count = some.length) {
      problems.push(...some.slice(0, listedProblems - problems.length));
      found.problem_count += count;
    },
  };
}

/** A triple for readers, such as "10 records, 4,810 bytes, digest 00c1…". */
export function describeTriple({ count, bytes, digest }: Triple): string {
  return `${numberOf(count, 'record')}, ${formatCount(bytes)} bytes, digest ${formatDigest(BigInt(digest))}`;
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
  return `Reads of its ${formatCount(count)} records ${days} fail. Put the object back from a copy with SHA-256 ${segment.sha256.toString('hex')}, then verify again.`;
}

/** What to do about wrong counters or a wrong catalogue. */
export const counterAdvice =
  'Nothing that the service does leads here: compare with a backup of the database before anything is moved, deleted or erased. Where the records are right and only the counters are not: svcctl records recount.';
