import { expect, it } from 'vitest';
import { addCounts } from '../../api/views.ts';
import { foundText } from './count-matches.tsx';

const page = (count: number, looked: number, next_cursor: string | null) => ({
  count,
  looked,
  bytes: 10 * count,
  searched_to: null,
  next_cursor,
});

it('adds up stretches, and says whether others follow', () => {
  const first = page(2, 250_000, 'c');
  expect(foundText(first)).toBe('2 of 250,000 fit so far');
  const all = addCounts(first, page(1, 1_000, null));
  expect(all).toEqual(page(3, 251_000, null));
  expect(foundText(all)).toBe('3 of 251,000 fit');
});
