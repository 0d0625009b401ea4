import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPace, createWaiting, unpaced } from './pace.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

/** Work that is paced, and whether clients wait. */
function startWork(loops?: number) {
  const state = { isAwaited: false, restedMillis: 0, hasReturned: true };
  const rest = createPace({
    isAwaited: () => state.isAwaited,
    onRest: (seconds) => {
      state.restedMillis += seconds * 1000;
    },
  }).begin(loops);
  return {
    state,
    /** Works for so long and then rests. */
    workFor: async (millis: number, signal = never) => {
      await vi.advanceTimersByTimeAsync(millis);
      state.hasReturned = false;
      void rest(signal).then(() => {
        state.hasReturned = true;
      });
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}

test('work does not rest while no client waits', async () => {
  const { state, workFor } = startWork();
  for (let batch = 0; batch < 10; batch += 1) {
    await workFor(100);
    expect(state.hasReturned).toBe(true);
  }
  expect(state.restedMillis).toBe(0);
});

test('work rests while a client waits, and goes on when none does', async () => {
  const { state, workFor } = startWork();
  state.isAwaited = true;
  await workFor(100);
  await vi.advanceTimersByTimeAsync(50);
  expect(state.hasReturned).toBe(false);
  state.isAwaited = false;
  await vi.advanceTimersByTimeAsync(5);
  expect(state.hasReturned).toBe(true);
  expect(state.restedMillis).toBe(55);
});

test('loops that rest side by side leave nothing on their signal, or Node would warn of a leak', async () => {
  const { state, workFor } = startWork();
  state.isAwaited = true;
  const { signal } = new AbortController();
  for (let loop = 0; loop < 11; loop += 1) await workFor(100, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  state.isAwaited = false;
  await vi.advanceTimersByTimeAsync(5);
});

test('one of four loops has a twentieth of the time while clients never cease to wait', async () => {
  const { state, workFor } = startWork(4);
  state.isAwaited = true;
  for (let batch = 0; batch < 100; batch += 1) {
    await workFor(10);
    while (!state.hasReturned) await vi.advanceTimersByTimeAsync(5);
  }
  expect(state.restedMillis).toBeGreaterThanOrEqual(100 * 185);
  expect(state.restedMillis).toBeLessThanOrEqual(100 * 195);
});

test('work has a fifth of the time while clients never cease to wait', async () => {
  const { state, workFor } = startWork();
  state.isAwaited = true;
  for (let batch = 0; batch < 100; batch += 1) {
    await workFor(2);
    while (!state.hasReturned) await vi.advanceTimersByTimeAsync(1);
  }
  expect(state.restedMillis).toBeLessThanOrEqual(4 * 200);
  expect(state.restedMillis).toBeGreaterThan(4 * 200 - 10);
});

test('a rest after long work ends after a second', async () => {
  const { state, workFor } = startWork();
  await workFor(3_600_000);
  state.isAwaited = true;
  await workFor(3_600_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(state.hasReturned).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.hasReturned).toBe(true);
});

test('a stop ends a rest at its next look', async () => {
  const { state, workFor } = startWork();
  state.isAwaited = true;
  const stopping = new AbortController();
  await workFor(100, stopping.signal);
  expect(state.hasReturned).toBe(false);
  stopping.abort();
  await vi.advanceTimersByTimeAsync(5);
  expect(state.hasReturned).toBe(true);
  await workFor(100, stopping.signal);
  expect(state.hasReturned).toBe(true);
});

test('loops of the same kind of work earn their rests by themselves', async () => {
  const state = { isAwaited: true, ended: [] as string[] };
  const pace = createPace({ isAwaited: () => state.isAwaited, onRest: () => {} });
  const first = pace.begin();
  await vi.advanceTimersByTimeAsync(100);
  const second = pace.begin();
  void first(never).then(() => state.ended.push('first'));
  void second(never).then(() => state.ended.push('second'));
  await vi.advanceTimersByTimeAsync(0);
  expect(state.ended).toEqual(['second']);
  await vi.advanceTimersByTimeAsync(400);
  expect(state.ended).toEqual(['second', 'first']);
});

test('work that a client waits for never rests', async () => {
  await expect(unpaced.begin()(never)).resolves.toBeUndefined();
});

test('a client waits from the beginning of its request to the end of it', () => {
  const waiting = createWaiting();
  expect(waiting.isAny()).toBe(false);
  const [leaveFirst, leaveSecond] = [waiting.enter(), waiting.enter()];
  leaveFirst();
  expect(waiting.isAny()).toBe(true);
  leaveSecond();
  leaveSecond();
  expect(waiting.isAny()).toBe(false);
});

test('a request that goes on for more than a second holds up no work', () => {
  const waiting = createWaiting();
  const leave = waiting.enter();
  vi.advanceTimersByTime(999);
  expect(waiting.isAny()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(waiting.isAny()).toBe(false);
  waiting.enter();
  leave();
  expect(waiting.isAny()).toBe(true);
});
