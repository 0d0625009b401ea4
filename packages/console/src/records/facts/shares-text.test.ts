import { describe, expect, it } from 'vitest';
import { countOfOthers, sampleText } from './use-facts.ts';

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
