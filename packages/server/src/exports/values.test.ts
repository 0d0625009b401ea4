import { expect, test } from 'vitest';
import { cutBySheet } from './values.ts';

test.each([
  [1_048_575, true, null],
  [1_048_576, true, /room for 1,048,575 of these 1,048,576 rows/],
  [1_048_576, false, null],
  [2_000_000, false, /room for 1,048,576 of these 2,000,000 rows/],
])('a sheet with %i rows, a line of names: %s', (rows, hasHeader, cut) => {
  const text = cutBySheet({ rows, long_records: null, hasHeader });
  if (cut === null) expect(text).toBeNull();
  else expect(text).toMatch(cut);
});

test('records that may be too long for a cell are told', () => {
  const cut = (long_records: number) => cutBySheet({ rows: 5, long_records, hasHeader: true });
  expect(cut(0)).toBeNull();
  expect(cut(1)).toContain('1 record has more than 32,767 bytes');
  expect(cut(1200)).toContain('1,200 records have');
});
