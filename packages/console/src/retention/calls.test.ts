import { expect, test } from 'vitest';
import type { RetentionMove } from '../api/types.ts';
import { unsettled } from './calls.ts';

type Short = Pick<
  RetentionMove,
  'id' | 'tenant' | 'kind' | 'state' | 'first_day' | 'last_day' | 'planned_at'
>;

const move = (id: string, change: Partial<Short> = {}): Short => ({
  id,
  tenant: 'TX',
  kind: 'move',
  state: 'failed',
  first_day: '2001-03-01',
  last_day: '2001-03-31',
  planned_at: '2026-01-01T00:00:00Z',
  ...change,
});
const later = '2026-01-02T00:00:00Z';
const ids = (moves: readonly Short[]) => moves.map(({ id }) => id);

test('tells a failed move', () => {
  expect(ids(unsettled([move('a')], []))).toEqual(['a']);
});

test.each(['switched', 'removed'] as const)('is settled by a later one that is %s', (state) => {
  const good = move('b', { state, planned_at: later, last_day: '2001-06-30' });
  expect(unsettled([move('a')], [good])).toEqual([]);
});

test.each([
  ['under way', { state: 'verified', planned_at: later }],
  ['earlier', { state: 'removed', planned_at: '2025-12-31T00:00:00Z' }],
  [
    'of other days',
    { state: 'removed', planned_at: later, first_day: '2001-04-01', last_day: '2001-04-30' },
  ],
  ['of another tenant', { state: 'removed', planned_at: later, tenant: 'CA' }],
  ['of another kind', { state: 'removed', planned_at: later, kind: 'compact' }],
] satisfies [string, Partial<Short>][])('is not settled by one %s', (_, change) => {
  expect(ids(unsettled([move('a')], [move('b', change)]))).toEqual(['a']);
});

test('tells the latest of those over the same days', () => {
  expect(ids(unsettled([move('b', { planned_at: later }), move('a')], []))).toEqual(['b']);
});
