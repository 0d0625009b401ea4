import { expect, test } from 'vitest';
import { afterFailures } from './endpoint-story.tsx';

const at = '2026-03-05T14:07:09.123456Z';
const dead = (status: 'pending' | 'abandoned') => ({
  status,
  failure_class: 'status' as const,
  count: 1,
});
const key = {
  ...{ key: 'a', delivery_id: 'dlv_1', since: at, attempts: 1, max_attempts: 1, next_retry: null },
  ...{ failure_class: 'status' as const, error: null, waiting: { count: 1, is_exact: true } },
};
const tried = 'What failed is tried again by its schedule.';
const stuck = 'What is abandoned and blocks a key waits for RETRY or SKIP.';

test.each([
  ['pending', 'pending', tried],
  ['abandoned', 'abandoned', stuck],
  ['pending', 'abandoned', `${tried} ${stuck}`],
  ['abandoned', null, null],
] as const)('of what is %s, with keys behind what is %s, it says: %s', (status, head, said) => {
  const blocked = head === null ? [] : [{ ...key, status: head }];
  const story = { dead_letters: [dead(status)], blocked };
  expect(afterFailures({ failing_since: at, story })).toBe(said);
});

test('without failures nothing is said of them, but of what blocks a key', () => {
  const story = { dead_letters: [dead('abandoned')], blocked: [] };
  expect(afterFailures({ failing_since: null, story })).toBeNull();
  const blocked = [{ ...key, status: 'abandoned' as const }];
  expect(afterFailures({ failing_since: null, story: { ...story, blocked } })).toBe(stuck);
});
