import { expect, test } from 'vitest';
import { rowsText } from './list.tsx';

const words = { isFirst: true, one: 'delivery', many: 'deliveries', zone: 'utc' } as const;
const rows = [1, 2, 3];

test.each([
  [{ data: rows, next_cursor: null, total: 3 }, '3 deliveries'],
  [{ data: rows, next_cursor: 'c', total: 1204 }, '3 of 1,204 deliveries'],
  [{ data: rows, next_cursor: 'c', total: null }, '≥ 3 deliveries'],
  [{ data: rows, next_cursor: 'c' }, '3 deliveries, and more'],
  [
    { data: [], next_cursor: 'c', total: null, searched_to: '2026-03-05T12:00:01.250000Z' },
    '≥ 0 deliveries, searched to 2026-03-05 12:00:01',
  ],
])('of a first page %j says that there are %s', (page, text) => {
  expect(rowsText(page, words)).toBe(text);
});

test('a later page does not count those before it', () => {
  const page = { data: rows, next_cursor: 'c', total: null };
  expect(rowsText(page, { ...words, isFirst: false })).toBe('3 deliveries, and more');
});
