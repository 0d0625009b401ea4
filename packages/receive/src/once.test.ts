import { expect, test } from 'vitest';
import { hold } from '../../server/test/held-pace.ts';
import { inMemory } from './once.ts';

test('work is done once, and again only if it failed', async () => {
  const once = inMemory();
  const done: string[] = [];
  const fail = () => {
    done.push('failed');
    throw new Error('no');
  };
  await expect(once('a', fail)).rejects.toThrow('no');
  expect(await once('a', () => done.push('a'))).toBe(true);
  expect(await once('a', () => done.push('again'))).toBe(false);
  expect(await once('b', () => done.push('b'))).toBe(true);
  expect(done).toEqual(['failed', 'a', 'b']);
});

test('who comes while it is done waits, and fails if that fails', async () => {
  const once = inMemory();
  for (const isGood of [false, true]) {
    const gate = hold();
    let others = 0;
    const first = once('a', () => gate.promise);
    const second = once('a', () => {
      others += 1;
    });
    if (isGood) gate.resolve();
    else gate.reject(new Error('no'));
    const [one, two] = await Promise.allSettled([first, second]);
    expect([one.status, two.status]).toEqual(Array(2).fill(isGood ? 'fulfilled' : 'rejected'));
    expect(others).toBe(0);
  }
});

test('it remembers for its days, and no more ids than it may', async () => {
  let now = 0;
  const once = inMemory({ max: 2, days: 1, now: () => now });
  const isDone = (id: string) => once(id, () => {});
  expect(await isDone('a')).toBe(true);
  now = 86_399_999;
  expect(await isDone('a')).toBe(false);
  now = 86_400_000;
  expect(await isDone('a')).toBe(true);
  expect(await isDone('b')).toBe(true);
  expect(await isDone('c')).toBe(true);
  expect(await isDone('b')).toBe(false);
  expect(await isDone('a')).toBe(true);
});
