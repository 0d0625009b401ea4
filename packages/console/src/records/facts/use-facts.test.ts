import { expect, it } from 'vitest';
import { withEmpty } from './use-facts.ts';

it('fills the gaps between months', () => {
  expect(
    withEmpty([
      { name: '2000-11', count: 2 },
      { name: '2001-02', count: 4 },
    ]),
  ).toEqual([
    { name: '2000-11', count: 2 },
    { name: '2000-12', count: 0 },
    { name: '2001-01', count: 0 },
    { name: '2001-02', count: 4 },
  ]);
  expect(withEmpty([])).toEqual([]);
});
