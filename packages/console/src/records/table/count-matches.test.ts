import { expect, it } from 'vitest';
import { foundText } from './count-matches.tsx';

it('tells how many fit, and while not all is read how far it is', () => {
  const first = { count: 2, looked: 250_000 };
  expect(foundText({ ...first, next_cursor: 'c' })).toBe('2 of 250,000 fit so far');
  expect(foundText({ ...first, next_cursor: null })).toBe('2 of 250,000 fit');
  const job = { count: 1_204, looked: 24_900, total: 60_000 };
  expect(foundText({ ...job, state: 'running' })).toBe('1,204 fit so far · 41 %');
  expect(foundText({ ...job, state: 'waiting' })).toBe('1,204 fit so far · waiting');
  expect(foundText({ ...job, looked: 60_000, state: 'completed' })).toBe('1,204 of 60,000 fit');
});
