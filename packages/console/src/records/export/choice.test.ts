import { describe, expect, it } from 'vitest';
import { betterWay, bodyOf, type ExportChoice, fileName, selectionOf } from './choice.ts';

const plain: ExportChoice = {
  slice: { tenant: 'TX', store: 'DFW', month: '2001-03' },
  format: 'csv',
  compression: 'none',
  profile: 'machine',
  header: true,
};
const version = { id: 'dsv_1', name: 'q1 2001' };

describe('selectionOf', () => {
  it('says slice, kind and dataset', () => {
    expect(selectionOf({ ...plain, kind: 'arrival', dataset: 'training' })).toEqual({
      tenant: 'TX',
      store: 'DFW',
      month: '2001-03',
      kind: 'arrival',
      dataset: 'training',
    });
  });

  it('says of a version nothing that the service excludes beside it', () => {
    const choice = { ...plain, kind: 'arrival', dataset: 'training', version, split: 'test' };
    expect(selectionOf(choice as ExportChoice)).toEqual({
      tenant: 'TX',
      version: 'dsv_1',
      split: 'test',
    });
  });
});

describe('bodyOf', () => {
  it('says profile and header of a CSV', () => {
    expect(bodyOf({ ...plain, compression: 'gzip' })).toEqual({
      ...plain.slice,
      compression: 'gzip',
      profile: 'machine',
      header: true,
    });
  });

  it('says no more than NDJSON and Parquet know', () => {
    const columns = ['event_id'];
    expect(bodyOf({ ...plain, format: 'ndjson', columns })).toEqual({ ...plain.slice, columns });
    expect(bodyOf({ ...plain, format: 'parquet', compression: 'zstd' })).toEqual(plain.slice);
  });
});

describe('fileName', () => {
  it('holds nothing but letters, digits, dot, dash and underscore', () => {
    expect(fileName({ ...plain, slice: { tenant: 'a:b c', store: 'Zürich' } })).toBe(
      'a-b-c_Zürich.csv',
    );
  });

  it('ends as its format and compression do', () => {
    expect(fileName({ ...plain, format: 'ndjson', compression: 'zstd' })).toBe(
      'TX_DFW_2001-03.ndjson.zst',
    );
    expect(fileName({ ...plain, format: 'parquet', compression: 'gzip' })).toBe(
      'TX_DFW_2001-03.parquet',
    );
  });

  it('names version and split in place of the slice', () => {
    expect(fileName({ ...plain, version, split: 'train' })).toBe('TX_q1-2001_train.csv');
  });
});

describe('betterWay', () => {
  it('is a job above 500,000 rows', () => {
    expect([undefined, 500_000, 500_001].map(betterWay)).toEqual(['now', 'now', 'job']);
  });
});
