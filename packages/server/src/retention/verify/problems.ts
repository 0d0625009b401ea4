import { formatDigest } from '../../kernel/digest.ts';
import type { Triple } from '../../records/index.ts';
import type { ProblemKind, VerifyProblem } from '../schemas.contract.ts';
import type { LiveSegment } from './queries.ts';

/** 10 records, 4,810 bytes, digest 00c1… */
export function describeTriple({ count, bytes, digest }: Triple): string {
  const records = count === 1 ? '1 record' : `${number(count)} records`;
  return `${records}, ${number(bytes)} bytes, digest ${formatDigest(BigInt(digest))}`;
}

/** A problem of a whole segment. */
export function segmentProblem(
  kind: ProblemKind,
  segment: LiveSegment,
  message: string,
): VerifyProblem {
  const { tenant, object_key, first_day, last_day } = segment;
  return { kind, tenant, object_key, store: null, first_day, last_day, message };
}

/** What a segment is that cannot be read, and what to do about it. */
export function restoreAdvice(segment: LiveSegment): string {
  const { count, first_day, last_day } = segment;
  const days = first_day === last_day ? `of ${first_day}` : `of ${first_day} … ${last_day}`;
  return `Reads of its ${number(count)} records ${days} fail. Put the object back from a copy with SHA-256 ${segment.sha256.toString('hex')}, then verify again.`;
}

/** What to do about counters and catalogue. */
export const counterAdvice =
  'Nothing that the service does leads here: compare with a backup of the database before anything is moved, deleted or erased, and restore the row.';

/** 1,234,567 */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
