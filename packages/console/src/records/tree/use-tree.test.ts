import { expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import type { LoadedPage } from './branch-pages.ts';
import { toBranch } from './use-tree.ts';

const row = (tenant: string, count: number, bytes: number) =>
  ({ tenant, store: null, month: null, count, bytes }) as DatasetRow;
const page = (data: DatasetRow[], next_cursor: string | null) =>
  ({ state: { data: { data, next_cursor }, errorUpdateCount: 0 } }) as unknown as Pick<
    LoadedPage,
    'state'
  >;
const namesOf = ({ rows }: { rows: readonly DatasetRow[] }) => rows.map(({ tenant }) => tenant);

it('sorts the rows of a branch by size once all of them are there', () => {
  const [first, second] = [[row('A', 1, 9), row('B', 3, 2)], [row('C', 2, 5)]];
  const whole = [page(first, 'next'), page(second, null)];
  expect(namesOf(toBranch(whole, null))).toEqual(['A', 'B', 'C']);
  expect(namesOf(toBranch(whole, null, 'count'))).toEqual(['B', 'C', 'A']);
  expect(namesOf(toBranch(whole, null, 'bytes'))).toEqual(['A', 'C', 'B']);
  expect(toBranch(whole, null, 'bytes').tail).toBe('none');
  const begun = toBranch([page(first, 'next')], null, 'count');
  expect([namesOf(begun), begun.tail]).toEqual([['A', 'B'], 'more']);
});
