import { expect, test } from 'vitest';
import { stretchesOf } from './check-counters.ts';

test('a month is summed at once, one with too much hot day by day', () => {
  expect(stretchesOf({ month: '2004-02', hot_count: 5_000_000 })).toEqual([
    { first: '2004-02-01', last: '2004-02-29' },
  ]);
  const days = stretchesOf({ month: '2004-02', hot_count: 5_000_001 });
  expect(days).toHaveLength(29);
  expect(days[0]).toEqual({ first: '2004-02-01', last: '2004-02-01' });
  expect(days[28]).toEqual({ first: '2004-02-29', last: '2004-02-29' });
});
