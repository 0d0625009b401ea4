import type { DatasetRow } from '../../api/types.ts';

export type Totals = {
  count: number;
  bytes: number;
  /** Of hot records their bytes, of cold ones what their objects take. */
  storedBytes: number;
  isAllHot: boolean;
  covered: number;
  coverage: number | null;
};

/** What rows of one level have together. */
export function totalsOf(rows: readonly DatasetRow[]): Totals {
  let [count, bytes, storedBytes, covered] = [0, 0, 0, 0];
  for (const row of rows) {
    count += row.count;
    bytes += row.bytes;
    storedBytes += row.stored_bytes;
    covered += row.covered;
  }
  return {
    count,
    bytes,
    storedBytes,
    isAllHot: rows.every(({ tier }) => tier === 'hot'),
    covered,
    coverage: count === 0 ? null : covered / count,
  };
}
