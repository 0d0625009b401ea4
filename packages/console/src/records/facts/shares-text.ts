import type { RecordFacts } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';

/** Whether all records were looked at, or how many of how many. */
export function sampleText({ count, sampled, is_exact }: RecordFacts): string {
  if (is_exact) return count === 1 ? 'of the one record' : `of all ${formatCount(count)} records`;
  return `in a sample of ${formatCount(sampled)} of ${formatCount(count)} records`;
}

/** Records whose value is none of the listed ones. */
export function countOfOthers(shares: RecordFacts['kinds'], sampled: number): number {
  return Math.max(0, sampled - shares.reduce((sum, { count }) => sum + count, 0));
}
