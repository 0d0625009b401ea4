import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type Closers, endInTime, stopTogether, withClosers } from './stop.ts';

/** A log that keeps the messages of its errors, and closers of which those that are named here fail. */
function setUp(...failing: string[]) {
  const ended: string[] = [];
  const logged: string[] = [];
  const log = pino({}, { write: (line) => logged.push(JSON.parse(line).err.message) });
  const ending = (name: string) => async () => {
    ended.push(name);
    if (failing.includes(name)) throw new Error(`${name} fails`);
  };
  const closers: Closers = ['postgres', 'db', 'store'].map(ending);
  return { ended, logged, log, ending, closers };
}

const cuts = { requests() {}, attempts() {}, database() {} };

test('a stop calls every closer, logs each failure and throws the first', async () => {
  const { ended, logged, log, closers } = setUp('store', 'db');
  const stopped = endInTime(closers, { millis: 60_000, cuts, log });
  await expect(stopped).rejects.toThrow('store fails');
  expect(ended).toEqual(['store', 'db', 'postgres']);
  expect(logged).toEqual(['store fails', 'db fails']);
});

test('work without a service closes everything, and throws its own failure rather than that of a closer', async () => {
  const { ended, logged, log, closers } = setUp('store');
  const work = async (added: Closers) => {
    added.push(...closers);
    return 'done';
  };
  await expect(withClosers(log, work)).rejects.toThrow('store fails');
  expect(ended).toEqual(['store', 'db', 'postgres']);
  const failed = withClosers(log, async (added) => {
    await work(added);
    throw new Error('work fails');
  });
  await expect(failed).rejects.toThrow('work fails');
  expect(ended).toHaveLength(6);
  expect(logged).toEqual(['store fails', 'store fails']);
  expect(await withClosers(log, async () => 'done')).toBe('done');
});

test('what stops at the same time is waited for, also beside one that fails', async () => {
  const { ended, logged, log, ending } = setUp('requests');
  const slow = async () => {
    await new Promise(setImmediate);
    await ending('drainer')();
  };
  const works = [{ stop: ending('requests') }, { stop: slow }];
  await expect(stopTogether(works, log)).rejects.toThrow('requests fails');
  expect(ended).toEqual(['requests', 'drainer']);
  expect(logged).toEqual(['requests fails']);
});
