import { expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { DuckDbAway } from '../duckdb.ts';
import { fromFileSystem, storeUnavailable } from './objects.ts';
import { fromS3, mayPass } from './s3-errors.ts';
import { createStoreWait, longestWaitMillis, pauseMillis } from './store-wait.ts';

const away = storeUnavailable('The object cannot be read', 'the store says SlowDown');

/** What the SDK throws for an answer. */
function answer(name: string, httpStatusCode: number) {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
}

const faults: [unknown, boolean][] = [
  [answer('SlowDown', 503), true],
  [answer('InternalError', 500), true],
  [Object.assign(new Error('reset'), { code: 'ECONNRESET' }), true],
  [Object.assign(new Error('late'), { name: 'TimeoutError' }), true],
  [new AggregateError([Object.assign(new Error('no'), { code: 'ECONNREFUSED' })]), true],
  [answer('AccessDenied', 403), false],
  [answer('Forbidden', 403), false],
  [answer('SomethingNew', 403), false],
  [answer('NoSuchBucket', 404), false],
  [answer('XMinioStorageFull', 507), false],
  [answer('CredentialsProviderError', 0), false],
];

test.each(faults)('%s may pass: %s', (error, isPassing) => {
  expect(mayPass(fromS3(error, 'The object cannot be read'))).toBe(isPassing);
});

test('a full or forbidden disk does not pass by itself, nor does any fault that is not the store’s', () => {
  for (const code of ['ENOSPC', 'EACCES', 'EROFS']) {
    const error = Object.assign(new Error(code), { code, syscall: 'open' });
    expect(mayPass(fromFileSystem(error, 'The object cannot be written'))).toBe(false);
  }
  const stale = Object.assign(new Error('ESTALE'), { code: 'ESTALE', syscall: 'open' });
  expect(mayPass(fromFileSystem(stale, 'The object cannot be written'))).toBe(true);
  expect(mayPass(new AppError('segment_damaged'))).toBe(false);
  expect(mayPass(new Error('a mistake'))).toBe(false);
});

/** A wait whose time passes by its own sleeps. */
function setUp() {
  let time = 0;
  const told: unknown[] = [];
  const pauses: number[] = [];
  const stopping = new AbortController();
  const wait = createStoreWait({
    signal: stopping.signal,
    note: async (waiting) => {
      told.push(waiting?.reason ?? null);
    },
    now: () => time,
    sleep: async (millis) => {
      pauses.push(millis);
      time += millis;
    },
  });
  return { wait, told, pauses, stopping };
}

test('work is done again after longer and longer pauses until the store answers, and both are noted', async () => {
  const { wait, told, pauses } = setUp();
  let tries = 0;
  const done = await wait.run(async () => {
    tries += 1;
    if (tries < 30) throw away;
    return 'done';
  });
  expect(done).toBe('done');
  expect(told).toEqual([...Array(29).fill(away.detail), null]);
  expect(pauses[0]).toBeLessThanOrEqual(1000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(60_000);
  expect(Math.min(...pauses.slice(-5))).toBeGreaterThanOrEqual(30_000);
});

test('pauses differ from process to process', () => {
  expect([0, 0.5, 1].map((part) => pauseMillis(8000, () => part))).toEqual([4000, 6000, 8000]);
});

test('an hour without anything done ends the wait with the fault of the store', async () => {
  const { wait, pauses } = setUp();
  const sum = () => pauses.reduce((total, each) => total + each, 0);
  let saved = 0;
  const never = wait.run(async () => {
    // Something was done after half an hour, so the hour begins anew.
    if (saved === 0 && sum() > longestWaitMillis / 2) {
      saved = sum();
      await wait.goesOn();
    }
    throw away;
  });
  await expect(never).rejects.toBe(away);
  expect(sum() - saved).toBeGreaterThanOrEqual(longestWaitMillis);
  expect(sum() - saved).toBeLessThan(longestWaitMillis + 60_000);
});

test('work that DuckDB died under is done once more, for it starts anew, until something is done', async () => {
  const { wait, told } = setUp();
  const died = new AppError('cold_tier_unavailable', { cause: new DuckDbAway('it ended') });
  let tries = 0;
  const die = async () => {
    tries += 1;
    throw died;
  };
  await expect(wait.run(die)).rejects.toBe(died);
  expect(tries).toBe(2);
  await expect(wait.run(die)).rejects.toBe(died);
  expect(tries).toBe(3);
  await wait.goesOn();
  await expect(wait.run(die)).rejects.toBe(died);
  expect(tries).toBe(5);
  expect(told.slice(-2)).toEqual([null, died.detail]);
});

test('what waiting does not help is thrown at once, and so is anything after a stop', async () => {
  const { wait, told, stopping } = setUp();
  const refused = fromS3(answer('AccessDenied', 403), 'The object cannot be read');
  await expect(wait.run(() => Promise.reject(refused))).rejects.toBe(refused);
  stopping.abort();
  await expect(wait.run(() => Promise.reject(away))).rejects.toBe(away);
  expect(told).toEqual([]);
});
