import { expect, test } from 'vitest';
import { createAddressRule } from './address.ts';
import { createConnectionPool } from './connection-pool.ts';

const createPool = () =>
  createConnectionPool({ rule: createAddressRule([]), lookup: async () => [], maxIdle: 2 });

const to = (hostname: string) => ({
  ...{ origin: `http://${hostname}`, protocol: 'http:', hostname, port: 80, tls: null },
  timeoutMillis: 1000,
});

test('the connection that was used last is taken first, and one that breaks in use takes none with it', () => {
  const pool = createPool();
  const [broken, first, last] = [pool.open(to('a')), pool.open(to('a')), pool.open(to('a'))];
  pool.release(first);
  pool.release(last);
  pool.discard(broken);
  expect(pool.take(to('a'))).toBe(last);
  expect(pool.take(to('a'))).toBe(first);
  expect([broken, first, last]).not.toContain(pool.take(to('a')));
});

test('of too many, the one that has been idle for longest goes, whatever the others lead to', () => {
  const pool = createPool();
  const [oldest, other, newest] = [pool.open(to('a')), pool.open(to('b')), pool.open(to('a'))];
  for (const each of [oldest, other, newest]) pool.release(each);
  expect(pool.take(to('a'))).toBe(newest);
  expect(pool.take(to('a'))).not.toBe(oldest);
  expect(pool.take(to('b'))).toBe(other);
});
