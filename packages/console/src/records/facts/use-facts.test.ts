import { describe, expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import { countOfOthers, sampleText, sumByMonth } from './use-facts.ts';

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

const none = { kinds: [], sources: [], models: [] };

describe('sampleText', () => {
  it('says whether all records were looked at', () => {
    expect(sampleText({ ...none, count: 8310, sampled: 8310, is_exact: true })).toBe(
      'of all 8,310 records',
    );
    expect(sampleText({ ...none, count: 355_905, sampled: 10_000, is_exact: false })).toBe(
      'in a sample of 10,000 of 355,905 records',
    );
  });
});

describe('countOfOthers', () => {
  it('is what the listed values leave', () => {
    expect(
      countOfOthers(
        [
          { value: 'a', count: 7 },
          { value: null, count: 2 },
        ],
        10,
      ),
    ).toBe(1);
    expect(countOfOthers([], 0)).toBe(0);
  });
});
