import { expect, test } from 'vitest';
import { isWatched } from './bulk-outcome.tsx';

const job = { state: 'completed', rows_done: 1, outcome: null } as const;
const ended = (millisAgo: number) => new Date(Date.now() - millisAgo).toISOString();

test('a job is watched while it runs, and shortly after, until what became of its rows is settled', () => {
  expect(isWatched({ ...job, state: 'running', finished_at: null })).toBe(true);
  expect(isWatched({ ...job, state: 'paused', finished_at: null })).toBe(false);
  expect(isWatched({ ...job, finished_at: ended(0) })).toBe(true);
  expect(isWatched({ ...job, finished_at: ended(0), rows_done: 0 })).toBe(false);
  const at = ended(0);
  const outcome = { counts: {}, looked_at: at, settled_at: at };
  expect(isWatched({ ...job, finished_at: at, outcome })).toBe(false);
});

test('a job that ended long ago is not watched for ever, though its rows were never settled', () => {
  const outcome = { counts: { under_way: 1 }, looked_at: ended(3_600_000), settled_at: null };
  expect(isWatched({ ...job, finished_at: ended(7_200_000), outcome })).toBe(false);
  expect(isWatched({ ...job, finished_at: ended(7_200_000) })).toBe(false);
});
