import { describe, expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import { sumByMonth } from './use-facts.ts';

const leaf = (month: string, count: number) => ({ month, count }) as DatasetRow;

describe('sumByMonth', () => {
  it('sums stores, orders months and fills the gaps', () => {
    expect(sumByMonth([leaf('2001-02', 1), leaf('2000-11', 2), leaf('2001-02', 3)])).toEqual([
      { name: '2000-11', count: 2 },
      { name: '2000-12', count: 0 },
      { name: '2001-01', count: 0 },
      { name: '2001-02', count: 4 },
    ]);
    expect(sumByMonth([])).toEqual([]);
  });
});
