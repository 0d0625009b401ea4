import type { DatasetRow } from '../../api/types.ts';

export type Totals = {
  count: number;
  bytes: number;
  /** Of hot records their bytes, of cold ones what their objects take. */
  storedBytes: number;
  isAllHot: boolean;
  covered: number;
  by_dataset: { training: number; fine_tuning: number };
  coverage: number | null;
};

/** What rows of one level have together. */
export function totalsOf(rows: readonly DatasetRow[]): Totals {
  let [count, bytes, storedBytes, covered, training, fineTuning] = [0, 0, 0, 0, 0, 0];
  for (const row of rows) {
    count += row.count;
    bytes += row.bytes;
    storedBytes += row.stored_bytes;
    covered += row.covered;
    training += row.by_dataset.training;
    fineTuning += row.by_dataset.fine_tuning;
  }
  return {
    count,
    bytes,
    storedBytes,
    isAllHot: rows.every(({ tier }) => tier === 'hot'),
    covered,
    by_dataset: { training, fine_tuning: fineTuning },
    coverage: count === 0 ? null : covered / count,
  };
}
