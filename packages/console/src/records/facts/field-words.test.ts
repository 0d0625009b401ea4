import { describe, expect, it, test } from 'vitest';
import type { DescribedField } from '../../api/types.ts';
import {
  filterOf,
  filterOfBucket,
  interestOf,
  sampleText,
  shortNumber,
  typicalOf,
  withError,
} from './field-words.ts';

const exactly = (share: number) => ({ share, low: share, high: share });
const field = (change: Partial<DescribedField>): DescribedField => ({
  present: exactly(1),
  nulls: exactly(0),
  missing: exactly(0),
  types: [],
  numbers: null,
  distinct: 0,
  values: [],
  ...change,
});
const values = (...shares: number[]) =>
  shares.map((share, n) => ({ value: 'abcde'[n] ?? '', count: 100 * share, ...exactly(share) }));

describe('sampleText', () => {
  it('says whether all records were looked at', () => {
    expect(sampleText({ count: 8310, sampled: 8310, is_exact: true, fitting: null })).toBe(
      'of all 8,310 records',
    );
    expect(sampleText({ count: 1, sampled: 1, is_exact: true, fitting: null })).toBe(
      'of the one record',
    );
    expect(sampleText({ count: 355_905, sampled: 10_000, is_exact: false, fitting: null })).toBe(
      'in a sample of 10,000 of 355,905 records',
    );
  });

  it('says how many fit a where, and how far that may be off', () => {
    const fitting = { share: 0.12, low: 0.105, high: 0.137 };
    expect(sampleText({ count: 355_905, sampled: 1_200, is_exact: false, fitting })).toBe(
      'in a sample of 1,200 of 355,905 records, of which 12 % ±2 fit',
    );
    expect(sampleText({ count: 8, sampled: 4, is_exact: true, fitting: exactly(0.5) })).toBe(
      'of 4 of 8 records, of which 50 % fit',
    );
  });
});

describe('withError', () => {
  it('tells an error that can be seen, rounded up', () => {
    expect(withError({ share: 0.8, low: 0.776, high: 0.822 })).toBe('80 % ±3');
    expect(withError({ share: 0.8, low: 0.798, high: 0.802 })).toBe('80 %');
  });
});

describe('interestOf', () => {
  const periods = [
    { period: '2001-01', sampled: 400 },
    { period: '2001-02', sampled: 10_000 },
    { period: '2001-03', sampled: 9 },
  ];
  const over = (...counts: [present: number, first: number][]) => ({
    ...field({ missing: exactly(0.1), nulls: exactly(0.05) }),
    over_time: counts.map(([present, first]) => ({
      present,
      counts: [first],
      p25: null,
      p50: null,
      p75: null,
    })),
  });

  it('is the share of records that lack a field, with those that have null', () => {
    expect(interestOf(over(), [])).toBeCloseTo(0.15);
    expect(interestOf(over([340, 200], [8_500, 5_000], [0, 0]), periods)).toBeCloseTo(0.15);
  });

  it('is how far a share moves over time, less what sampling may make of it', () => {
    expect(interestOf(over([340, 340], [8_500, 4_500], [0, 0]), periods)).toBeCloseTo(0.3);
    expect(interestOf(over([80, 0], [9_000, 0], [9, 9]), periods)).toBeCloseTo(0.6);
  });
});

describe('typicalOf', () => {
  it('is the middle of numbers and where nine of ten lie', () => {
    const quantiles = [5, 25, 50, 75, 95].map((percent) => ({
      percent,
      value: percent / 7,
      low: 0,
      high: 0,
    }));
    const numbers = { count: 99, beyond: 0, min: 0, max: 99, quantiles, buckets: [] };
    expect(typicalOf(field({ numbers, distinct: 99 }))).toBe('7.143 (0.7143 … 13.57)');
    expect(typicalOf(field({ numbers, distinct: 2, values: values(0.5, 0.5) }))).toBe(
      'a 50 %, b 50 %',
    );
  });

  it('is the most frequent values, as shares of the records, as everywhere else', () => {
    const half = field({ present: exactly(0.5), distinct: 5, values: values(0.25, 0.1, 0.05) });
    expect(typicalOf(half)).toBe('a 25 %, b 10 %, c 5 % of 5');
    expect(typicalOf(field({}))).toBeNull();
    expect(typicalOf(field({ distinct: 900, values: values(0.01, 0.01) }))).toBe(
      'all different, such as a',
    );
  });
});

describe('filterOf', () => {
  it('names the records with a value, whatever the field is called', () => {
    const of = (name: string, value: string | number | boolean) =>
      filterOf({ of: 'enrichment', name }, value);
    expect(filterOf({ of: 'record', name: 'kind' }, 'a"b')).toEqual({ kind: 'a"b' });
    expect(filterOf({ of: 'record', name: 'model' }, 'a"b')).toEqual({ where: 'model = "a\\"b"' });
    expect(of('kind', 'x')).toEqual({ where: 'enrichment.kind = "x"' });
    expect(of('"a.b".c', 0.5)).toEqual({ where: 'enrichment."a.b".c = 0.5' });
    expect(of('tags[]', true)).toEqual({ where: 'any(enrichment.tags) = true' });
  });

  it('is none where a where cannot say it, or the value is cut', () => {
    expect(filterOf({ of: 'enrichment', name: 'tags[].name' }, 'x')).toBeUndefined();
    expect(filterOf({ of: 'enrichment', name: 'tags[][]' }, 'x')).toBeUndefined();
    expect(filterOf({ of: 'enrichment', name: 'text' }, 'x'.repeat(200))).toBeUndefined();
  });
});

test('filterOfBucket names the numbers between two edges, the last with its end', () => {
  const [field, bucket] = [{ of: 'enrichment', name: 'a' } as const, { from: 0.1, to: 1e21 }];
  expect(filterOfBucket(field, { ...bucket, isLast: false })).toEqual({
    where: 'enrichment.a >= 0.1 and enrichment.a < 1e+21',
  });
  expect(
    filterOfBucket({ of: 'record', name: 'confidence' }, { from: 0, to: 1, isLast: true }),
  ).toEqual({ where: 'confidence >= 0 and confidence <= 1' });
  // Of several elements one could be above, and another below.
  const array = { of: 'enrichment', name: 'a[]' } as const;
  expect(filterOfBucket(array, { ...bucket, isLast: false })).toBeUndefined();
});

describe('shortNumber', () => {
  it('keeps the digits that count, however large or small the number is', () => {
    expect([0.000123456, 123_456, -2, 1.5e300].map((value) => shortNumber(value))).toEqual([
      ...['0.0001235', '123500', '-2', '1.5e+300'],
    ]);
    expect(shortNumber(0.12345, 3)).toBe('0.123');
  });
});
