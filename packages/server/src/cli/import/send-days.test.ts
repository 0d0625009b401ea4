import { expect, test } from 'vitest';
import type { FoundFile } from './find-files.ts';
import { batchesOf } from './send-days.ts';

const fileOf = (name: string, rows: number | null, shape: string | null = 'keys') =>
  ({
    name,
    format: name.endsWith('.csv') ? 'csv' : 'parquet',
    source: { rows, shape },
  }) as FoundFile;

function told(files: FoundFile[], before = 0, isCheck = false) {
  const batches = batchesOf(files, { firstRow: () => before, isCheck, mostRows: 10 });
  return [...batches].map(({ parts, isTyped }) => [
    isTyped,
    ...parts.map(({ file, from, until }) => `${file.name} ${from}-${until}`),
  ]);
}

test('small files are looked at together, and large ones in parts', () => {
  const files = [fileOf('a', 4), fileOf('b', 3), fileOf('c', 25), fileOf('d', 0)];
  expect(told(files)).toEqual([
    [true, 'a 0-4', 'b 0-3', 'c 0-3'],
    [true, 'c 3-13'],
    [true, 'c 13-23'],
    [true, 'c 23-25', 'd 0-0'],
  ]);
});

test('what was answered before is in no part', () => {
  expect(told([fileOf('a', 4), fileOf('b', 25)], 4)).toEqual([
    [true, 'a 4-4', 'b 4-14'],
    [true, 'b 14-24'],
    [true, 'b 24-25'],
  ]);
});

test('a check reads a large CSV file once, and all other files in parts', () => {
  const files = [fileOf('a.csv', 25), fileOf('b.csv', 10), fileOf('c', 11)];
  expect(told(files, 0, true)).toEqual([
    [false, 'a.csv 0-25'],
    [true, 'b.csv 0-10'],
    [true, 'c 0-10'],
    [true, 'c 10-11'],
  ]);
  expect(told([fileOf('a.csv', 15)])).toEqual([
    [true, 'a.csv 0-10'],
    [true, 'a.csv 10-15'],
  ]);
});

test('other columns begin anew, and what cannot be staged is sent as a whole', () => {
  const files = [fileOf('a', 1), fileOf('b', 1, 'other'), fileOf('c', 25, null), fileOf('d', null)];
  const whole = [
    [false, 'c 0-25'],
    [false, 'd 0-null'],
  ];
  expect(told(files)).toEqual([[true, 'a 0-1'], [true, 'b 0-1'], ...whole]);
});
