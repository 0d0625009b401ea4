import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { repeat } from './repeat.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const everyMillis = 2000;
const unexpected = (error: unknown) => {
  throw error;
};

test('work that throws is told and done again', async () => {
  const errors: unknown[] = [];
  let count = 0;
  const work = async () => {
    count += 1;
    if (count === 1) throw new Error('once');
  };
  const repeated = repeat(work, { everyMillis, onError: (error) => errors.push(error) });
  await vi.advanceTimersByTimeAsync(2 * everyMillis);
  expect(errors).toEqual([new Error('once')]);
  expect(count).toBe(2);
  await repeated.stop();
});

test('work is done after each interval, and at once when poked', async () => {
  let count = 0;
  const repeated = repeat(async () => void count++, { everyMillis, onError: unexpected });
  await vi.advanceTimersByTimeAsync(everyMillis - 1);
  expect(count).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(count).toBe(1);
  repeated.poke();
  await vi.advanceTimersByTimeAsync(0);
  expect(count).toBe(2);
  await vi.advanceTimersByTimeAsync(everyMillis);
  expect(count).toBe(3);
  await repeated.stop();
});

test('work that says so is done sooner, and never later than every so often', async () => {
  let count = 0;
  const waits = [everyMillis / 2, everyMillis * 2, undefined];
  const repeated = repeat(async () => waits[count++], { everyMillis, onError: unexpected });
  repeated.poke();
  await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(everyMillis / 2);
  expect(count).toBe(2);
  await vi.advanceTimersByTimeAsync(everyMillis - 1);
  expect(count).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(count).toBe(3);
  await repeated.stop();
});

test('pokes while work is under way have it done once more, never twice at once', async () => {
  const ends: (() => void)[] = [];
  const repeated = repeat(() => new Promise<void>((end) => ends.push(end)), {
    everyMillis,
    onError: unexpected,
  });
  for (let i = 0; i < 5; i++) repeated.poke();
  await vi.advanceTimersByTimeAsync(10 * everyMillis);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await vi.advanceTimersByTimeAsync(everyMillis - 1);
  expect(ends).toHaveLength(2);
  await repeated.stop();
});

test('stopping aborts what is under way, waits for it and ends all looking', async () => {
  let count = 0;
  let hasEnded = false;
  const work = async (signal: AbortSignal) => {
    count += 1;
    await new Promise<void>((end) => signal.addEventListener('abort', () => end()));
    hasEnded = true;
    signal.throwIfAborted();
  };
  const repeated = repeat(work, { everyMillis, onError: unexpected });
  repeated.poke();
  await vi.advanceTimersByTimeAsync(0);
  await repeated.stop();
  expect(hasEnded).toBe(true);
  repeated.poke();
  await vi.advanceTimersByTimeAsync(10 * everyMillis);
  expect(count).toBe(1);
});
