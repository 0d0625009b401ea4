import type { DatasetRow } from '../../api/types.ts';

export type Totals = { count: number; bytes: number; covered: number; coverage: number | null };

/** What rows of one level have together. */
export function totalsOf(rows: readonly DatasetRow[]): Totals {
  let [count, bytes, covered] = [0, 0, 0];
  for (const row of rows) {
    count += row.count;
    bytes += row.bytes;
    covered += row.covered;
  }
  return { count, bytes, covered, coverage: count === 0 ? null : covered / count };
}
