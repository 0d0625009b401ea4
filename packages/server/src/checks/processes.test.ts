import { expect, test } from 'vitest';
import { judgeClock } from './processes.ts';

test('a clock is told from two seconds on, whichever way it is off', () => {
  const judge = (aheadMillis: number | null) => judgeClock('ours', 'theirs', aheadMillis);
  expect([judge(null), judge(1999), judge(-1999)]).toEqual([[], [], []]);
  expect([...judge(2000), ...judge(-59_999), ...judge(60_000)]).toEqual([
    { severity: 'warning', text: 'ours is 2.0 s ahead of theirs' },
    { severity: 'warning', text: 'ours is 60.0 s behind theirs' },
    { severity: 'critical', text: 'ours is 60.0 s ahead of theirs' },
  ]);
});
