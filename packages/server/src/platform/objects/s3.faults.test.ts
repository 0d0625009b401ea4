import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { ByteSink, ObjectStore } from './objects.ts';
import type { S3Limits } from './s3-client.ts';
import { fromS3, isStoreFull } from './s3-errors.ts';
import { collect } from './testing/conformance.ts';
import { describeEachS3, listed, manyParts, patient, refusal } from './testing/each-s3.ts';

const hasty: S3Limits = { ...patient, answerMillis: 300, idleMillis: 300 };

describeEachS3((world) => {
  test('says 503 with the cause when nobody listens', async () => {
    const store = await world.open(
      patient,
      's3://cold/prefix?endpoint=http%3A%2F%2F127.0.0.1%3A1&region=us-east-1',
    );
    const error = await refusal(store.head('a'));
    expect(error.status).toBe(503);
    expect(error.detail).toMatch(/object a cannot be read from s3:\/\/cold\/prefix.*ECONNREFUSED/);
  });

  test('says that the bucket is missing, and never that an object is', async () => {
    const store = await world.open(patient, world.s3.urlOf('prefix', 'no-such-bucket'));
    const path = await world.fileOf(Buffer.from('a'));
    const calls = [
      () => store.put('a', path),
      () => store.get('a', path),
      () => store.head('a'),
      () => store.remove('a'),
      () => listed(store),
    ];
    for (const call of calls) expect((await refusal(call())).detail).toContain('NoSuchBucket');
  });

  test('names what S3 refuses, without a second try', async () => {
    const store = await world.open();
    world.s3.behave(() => 'deny');
    const error = await refusal(store.put('a', await world.fileOf(Buffer.from('a'))));
    expect(error.detail).toContain('AccessDenied. Let the credentials');
    expect(world.s3.requests).toHaveLength(1);
  });

  test.each([
    ['fail', 'InternalError'],
    ['slow_down', 'SlowDown'],
    ['close', 'ECONNRESET'],
  ] as const)('gives up after 3 tries at a server that does nothing but %s', async (how, code) => {
    const store = await world.open();
    world.s3.behave(() => how);
    const error = await refusal(store.put('a', await world.fileOf(Buffer.from('a'))));
    expect(error.detail).toContain(code);
    expect(world.s3.requests).toHaveLength(3);
    world.s3.behave(() => 'pass');
    expect(await listed(store)).toEqual([]);
  });

  test.each(['fail', 'close'] as const)(
    'puts an object through a server that twice does %s',
    async (how) => {
      const store = await world.open();
      world.first(2, how, 'PUT');
      await store.put('a', await world.fileOf(Buffer.from('content')));
      await store.get('a', join(world.dir, 'through'));
      expect((await readFile(join(world.dir, 'through'))).toString()).toBe('content');
      expect(world.s3.requests.filter(({ method }) => method === 'PUT')).toHaveLength(3);
    },
  );

  test('gives up a server that never answers, after 3 time-outs', async () => {
    const store = await world.open(hasty);
    world.s3.behave(() => 'hang');
    const error = await refusal(store.head('a'));
    expect(error.detail).toMatch(/ETIMEDOUT|TimeoutError/);
    expect(world.s3.requests).toHaveLength(3);
  });

  test.each([
    ['head', 'hang', (store: ObjectStore) => store.head('a')],
    ['list', 'hang', (store: ObjectStore) => listed(store)],
    ['get', 'hang', (store: ObjectStore) => store.get('a', join(world.dir, 'late'))],
    ['get', 'stall_answer', (store: ObjectStore) => store.get('a', join(world.dir, 'late'))],
  ] as const)('ends a %s in its time when a server does nothing but %s', async (_, how, work) => {
    const url = world.nextUrl();
    await (await world.open(patient, url)).put('a', await world.fileOf(randomBytes(1000)));
    const store = await world.open(
      { ...patient, answerMillis: 600_000, idleMillis: 600_000, readMillis: 300 },
      url,
    );
    world.s3.clear();
    world.s3.behave((method) => (method === 'GET' || method === 'HEAD' ? how : 'pass'));
    const error = await refusal(work(store));
    expect(error.detail).toMatch(
      /cannot be (read|listed).*: the store sent \d+ bytes in \d+ ms\. Try again/,
    );
    expect(world.s3.requests.length).toBeLessThan(2);
    expect(existsSync(join(world.dir, 'late'))).toBe(false);
  });

  test('reads on past its time while bytes have come that earn it more', async () => {
    const url = world.nextUrl();
    await (await world.open(patient, url)).put('a', await world.fileOf(randomBytes(manyParts)));
    const store = await world.open(patient, url);
    world.s3.clear();
    let [begun, sizeBytes, isLate] = [0, 0, false];
    const sink: ByteSink = {
      begin() {
        begun += 1;
      },
      write(bytes) {
        sizeBytes += bytes.length;
        if (isLate || sizeBytes < manyParts / 2) return;
        isLate = true;
        vi.advanceTimersByTime(patient.readMillis + 1000);
      },
    };
    // No time passes but there, however slow the machine is.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      await store.get('a', sink);
    } finally {
      vi.useRealTimers();
    }
    expect([begun, sizeBytes, isLate]).toEqual([1, manyParts, true]);
    expect(world.s3.requests).toHaveLength(1);
  });

  test('leaves a server that hangs at once when it is aborted', async () => {
    const store = await world.open();
    world.s3.behave(() => 'hang');
    const controller = new AbortController();
    const reason = new Error('enough');
    const seen = world.s3.seen(({ method }) => method === 'HEAD');
    const asking = store.head('a', controller.signal);
    await seen;
    controller.abort(reason);
    await expect(asking).rejects.toBe(reason);
    expect(world.s3.requests).toHaveLength(1);
  });

  test.each([
    ['breaks off', 'half_answer', patient],
    ['stalls', 'stall_answer', { ...patient, idleMillis: 1000 }],
  ] as const)('reads an object, or a stretch, again whose body %s', async (_, how, limits) => {
    const content = randomBytes(3_000_000);
    const url = world.nextUrl();
    await (await world.open(patient, url)).put('a', await world.fileOf(content));
    const store = await world.open(limits, url);
    const path = join(world.dir, how);
    world.first(1, how, 'GET');
    await store.get('a', path);
    expect((await readFile(path)).equals(content)).toBe(true);
    world.first(1, how, 'GET');
    const sink = collect();
    await store.get('a', sink);
    expect([sink.begun(), sink.bytes().equals(content)]).toEqual([2, true]);
    world.first(1, how, 'GET');
    world.s3.clear();
    const stretch = { start: 1_000_000, end: 2_500_000, sizeBytes: content.length };
    await store.get('a', path, undefined, stretch);
    expect((await readFile(path)).equals(content.subarray(1_000_000, 2_500_000))).toBe(true);
    const range = 'bytes=1000000-2499999';
    expect(world.s3.requests.map(({ headers }) => headers.range)).toEqual([range, range]);
  });

  test('leaves no half file when every body breaks off', async () => {
    const store = await world.open();
    await store.put('a', await world.fileOf(randomBytes(100_000)));
    world.s3.clear();
    world.s3.behave(() => 'half_answer');
    const path = join(world.dir, 'half');
    await refusal(store.get('a', path));
    expect(existsSync(path)).toBe(false);
    expect(world.s3.requests).toHaveLength(3);
  });

  // A real server takes no request whose Range is not the one that was signed.
  if (world.found === undefined) {
    test('does not take other bytes for the stretch that it asked for', async () => {
      const store = await world.open();
      await store.put('a', await world.fileOf(randomBytes(1000)));
      world.s3.behave((method) => (method === 'GET' ? 'pass_range_over' : 'pass'));
      const path = join(world.dir, 'whole');
      const asked = store.get('a', path, undefined, { start: 100, end: 200, sizeBytes: 1000 });
      expect((await refusal(asked)).detail).toMatch(/the bytes that were asked for.*header Range/);
      expect(existsSync(path)).toBe(false);
    });
  }
});

test.each([
  ['XMinioStorageFull', 507, true],
  ['QuotaExceeded', 403, true],
  ['UnknownError', 507, true],
  ['SlowDown', 503, false],
  ['AccessDenied', 403, false],
])('%s (%i) says that the store is full: %s', (name, httpStatusCode, isFull) => {
  const error = Object.assign(new Error('no'), { name, $metadata: { httpStatusCode } });
  expect(isStoreFull(fromS3(error, 'It cannot be written'))).toBe(isFull);
  expect(isStoreFull(error)).toBe(false);
});
