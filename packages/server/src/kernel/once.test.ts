import { expect, test, vi } from 'vitest';
import { keepFor } from './once.ts';

const refuse = () => {
  throw new Error('late');
};
const hour = 3_600_000;

/** Readings that end when the test says so. */
function readings() {
  const begun: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const read = () =>
    new Promise<string>((resolve, reject) => {
      begun.push({ resolve, reject });
    });
  return { begun, read };
}

test('all who ask meanwhile join one reading, and whoever asks soon after learns the same', async () => {
  const { begun, read } = readings();
  const ask = keepFor(read, { keepMillis: hour, limitMillis: hour, late: refuse });
  const asking = [ask(), ask()];
  begun[0]?.resolve('first');
  expect(await Promise.all([...asking, ask()])).toEqual(['first', 'first', 'first']);
  expect(begun).toHaveLength(1);
});

test('what is old, and what failed, is read anew', async () => {
  const { begun, read } = readings();
  const ask = keepFor(read, { keepMillis: 0, limitMillis: hour, late: refuse });
  const first = ask();
  begun[0]?.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  const second = ask();
  begun[1]?.resolve('second');
  expect(await second).toBe('second');
  const third = ask();
  begun[2]?.resolve('third');
  expect(await third).toBe('third');
});

test('a reading that is late refuses whoever asks, and stays the only one until it has ended', async () => {
  const { begun, read } = readings();
  const ask = keepFor(read, { keepMillis: hour, limitMillis: 1, late: refuse });
  await expect(ask()).rejects.toThrow('late');
  await expect(ask()).rejects.toThrow('late');
  expect(begun).toHaveLength(1);
  begun[0]?.resolve('at last');
  await vi.waitFor(async () => expect(await ask()).toBe('at last'), 60_000);
  expect(begun).toHaveLength(1);
});

test('a reading that fails after it was late is tried again', async () => {
  const { begun, read } = readings();
  const ask = keepFor(read, { keepMillis: hour, limitMillis: 1, late: () => 'unknown' });
  expect(await ask()).toBe('unknown');
  begun[0]?.reject(new Error('away'));
  await vi.waitUntil(() => ask().then(() => begun.length === 2), { timeout: 60_000 });
});

test('nothing waits for the limit of a reading that has ended', async () => {
  const { begun, read } = readings();
  let lates = 0;
  const late = () => {
    lates += 1;
    return 'unknown';
  };
  const ask = keepFor(read, { keepMillis: 0, limitMillis: 1, late });
  const first = ask();
  begun[0]?.resolve('first');
  expect(await first).toBe('first');
  // Its limit began later, so it ends later.
  expect(await ask()).toBe('unknown');
  expect(lates).toBe(1);
});
