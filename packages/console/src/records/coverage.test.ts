import { describe, expect, it } from 'vitest';
import { coverageParts, coverageText } from './coverage.tsx';

const of = (count: number, training: number, fine_tuning: number, covered: number) => ({
  count,
  covered,
  by_dataset: { training, fine_tuning },
});

describe('coverageText', () => {
  it('says how many are covered, by which dataset, and how many are in both', () => {
    expect(coverageText(of(41_022, 100, 40, 123))).toBe(
      '123 of 41,022 covered, training 100, fine-tuning 40, in both 17',
    );
  });

  it('names no dataset where nothing is covered, and no share of nothing', () => {
    expect(coverageText(of(1200, 0, 0, 0))).toBe('0 of 1,200 covered');
    expect(coverageText(of(0, 0, 0, 0))).toBe('no records');
  });
});

describe('coverageParts', () => {
  const sum = ({ training, both, fine }: ReturnType<typeof coverageParts>) =>
    training + both + fine;

  it('draws nothing for nothing', () => {
    expect(coverageParts(of(10, 0, 0, 0), 24)).toEqual({ training: 0, both: 0, fine: 0 });
    expect(coverageParts(of(0, 0, 0, 0), 24)).toEqual({ training: 0, both: 0, fine: 0 });
  });

  it('gives each dataset its share', () => {
    expect(coverageParts(of(100, 50, 50, 75), 24)).toEqual({ training: 6, both: 6, fine: 6 });
  });

  it('is full only when the coverage is', () => {
    expect(sum(coverageParts(of(1_000_000, 999_999, 0, 999_999), 24))).toBe(23);
    expect(sum(coverageParts(of(7, 3, 4, 7), 24))).toBeCloseTo(24);
    expect(sum(coverageParts(of(1_000_000, 1_000_000, 1, 1_000_000), 24))).toBeCloseTo(24);
  });

  it('keeps a few records in sight', () => {
    expect(coverageParts(of(1_000_000, 1, 0, 1), 24).training).toBe(1);
  });
});
