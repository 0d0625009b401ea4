import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findRealS3 } from '../../../test/real-s3.mjs';
import { type S3Behaviour, startS3, type TestS3 } from '../../../test/s3.ts';
import { AppError } from '../../kernel/errors.ts';
import type { ObjectStore, OpenUpload } from './objects.ts';
import { createS3Store, type S3Limits } from './s3.ts';
import { fromS3, isStoreFull } from './s3-errors.ts';
import { collect } from './testing/conformance.ts';

const patient: S3Limits = {
  attempts: 3,
  connectMillis: 10_000,
  answerMillis: 20_000,
  idleMillis: 20_000,
  readMillis: 20_000,
};
const hasty: S3Limits = { ...patient, answerMillis: 300, idleMillis: 300 };
const manyParts = 20 * 1024 * 1024;

const real = findRealS3();
const servers = real === null ? [undefined] : [undefined, real];

describe.each(servers.map((found) => ({ name: found?.name ?? 's3rver', found })))(
  'through $name',
  ({ found }) => {
    let s3: TestS3;
    let dir: string;
    let stores: ObjectStore[] = [];
    let count = 0;

    beforeAll(async () => {
      s3 = await startS3(found);
      dir = await mkdtemp(join(tmpdir(), 'svcctl-s3-faults-'));
    });
    beforeEach(() => {
      s3.behave(() => 'pass');
      s3.clear();
    });
    afterEach(async () => {
      await Promise.all(stores.map((store) => store.close()));
      stores = [];
    });
    afterAll(async () => {
      await s3.close();
      await rm(dir, { recursive: true, force: true });
    });

    async function open(
      limits = patient,
      url = s3.urlOf(`faults/${++count}`),
    ): Promise<ObjectStore> {
      const store = await createS3Store(url, limits);
      stores.push(store);
      return store;
    }

    async function fileOf(content: Buffer): Promise<string> {
      const path = join(dir, randomBytes(8).toString('hex'));
      await writeFile(path, content);
      return path;
    }

    async function listed(store: ObjectStore): Promise<string[]> {
      const keys: string[] = [];
      for await (const { key } of store.list('')) keys.push(key);
      return keys;
    }

    /** So many times, then no more. */
    function first(times: number, behaviour: S3Behaviour, method: string): void {
      let left = times;
      s3.behave((asked) => (asked === method && left-- > 0 ? behaviour : 'pass'));
    }

    async function refusal(work: Promise<unknown>): Promise<AppError> {
      const error = await work.then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof AppError)) throw new Error('no AppError was thrown', { cause: error });
      expect(error.code).toBe('cold_tier_unavailable');
      return error;
    }

    test('says 503 with the cause when nobody listens', async () => {
      const store = await open(
        patient,
        's3://cold/prefix?endpoint=http%3A%2F%2F127.0.0.1%3A1&region=us-east-1',
      );
      const error = await refusal(store.head('a'));
      expect(error.status).toBe(503);
      expect(error.detail).toMatch(
        /object a cannot be read from s3:\/\/cold\/prefix.*ECONNREFUSED/,
      );
    });

    test('says that the bucket is missing, and never that an object is', async () => {
      const store = await open(patient, s3.urlOf('prefix', 'no-such-bucket'));
      const path = await fileOf(Buffer.from('a'));
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
      const store = await open();
      s3.behave(() => 'deny');
      const error = await refusal(store.put('a', await fileOf(Buffer.from('a'))));
      expect(error.detail).toContain('AccessDenied. Let the credentials');
      expect(s3.requests).toHaveLength(1);
    });

    test.each([
      ['fail', 'InternalError'],
      ['slow_down', 'SlowDown'],
      ['close', 'ECONNRESET'],
    ] as const)(
      'gives up after 3 tries at a server that does nothing but %s',
      async (how, code) => {
        const store = await open();
        s3.behave(() => how);
        const error = await refusal(store.put('a', await fileOf(Buffer.from('a'))));
        expect(error.detail).toContain(code);
        expect(s3.requests).toHaveLength(3);
        s3.behave(() => 'pass');
        expect(await listed(store)).toEqual([]);
      },
    );

    test.each(['fail', 'close'] as const)(
      'puts an object through a server that twice does %s',
      async (how) => {
        const store = await open();
        first(2, how, 'PUT');
        await store.put('a', await fileOf(Buffer.from('content')));
        await store.get('a', join(dir, 'through'));
        expect((await readFile(join(dir, 'through'))).toString()).toBe('content');
        expect(s3.requests.filter(({ method }) => method === 'PUT')).toHaveLength(3);
      },
    );

    test('gives up a server that never answers, after 3 time-outs', async () => {
      const store = await open(hasty);
      s3.behave(() => 'hang');
      const error = await refusal(store.head('a'));
      expect(error.detail).toMatch(/ETIMEDOUT|TimeoutError/);
      expect(s3.requests).toHaveLength(3);
    });

    test.each([
      ['head', 'hang', (store: ObjectStore) => store.head('a')],
      ['list', 'hang', (store: ObjectStore) => listed(store)],
      ['get', 'hang', (store: ObjectStore) => store.get('a', join(dir, 'late'))],
      ['get', 'stall_answer', (store: ObjectStore) => store.get('a', join(dir, 'late'))],
    ] as const)('ends a %s in its time when a server does nothing but %s', async (_, how, work) => {
      const url = s3.urlOf(`faults/${++count}`);
      await (await open(patient, url)).put('a', await fileOf(randomBytes(1000)));
      const store = await open(
        { ...patient, answerMillis: 600_000, idleMillis: 600_000, readMillis: 1000 },
        url,
      );
      s3.clear();
      s3.behave((method) => (method === 'GET' || method === 'HEAD' ? how : 'pass'));
      const error = await refusal(work(store));
      expect(error.detail).toMatch(
        /cannot be (read|listed).*: the store sent \d+ bytes in \d+ ms\. Try again/,
      );
      expect(s3.requests.length).toBeLessThan(2);
      expect(existsSync(join(dir, 'late'))).toBe(false);
    });

    test('reads on past its time while bytes have come that earn it more', async () => {
      const url = s3.urlOf(`faults/${++count}`);
      await (await open(patient, url)).put('a', await fileOf(randomBytes(manyParts)));
      const store = await open({ ...patient, readMillis: 3000 }, url);
      s3.clear();
      s3.behave((method) => (method === 'GET' ? 'pause_answer' : 'pass'));
      const path = join(dir, 'slow');
      await store.get('a', path);
      expect((await readFile(path)).length).toBe(manyParts);
      expect(s3.requests).toHaveLength(1);
    });

    test('leaves a server that hangs at once when it is aborted', async () => {
      const store = await open();
      s3.behave(() => 'hang');
      const controller = new AbortController();
      const reason = new Error('enough');
      const seen = s3.seen(({ method }) => method === 'HEAD');
      const asking = store.head('a', controller.signal);
      await seen;
      controller.abort(reason);
      await expect(asking).rejects.toBe(reason);
      expect(s3.requests).toHaveLength(1);
    });

    test.each([
      ['breaks off', 'half_answer', patient],
      ['stalls', 'stall_answer', { ...patient, idleMillis: 1000 }],
    ] as const)('reads an object again whose body %s', async (_, how, limits) => {
      const content = randomBytes(3_000_000);
      const url = s3.urlOf(`faults/${++count}`);
      await (await open(patient, url)).put('a', await fileOf(content));
      const store = await open(limits, url);
      first(1, how, 'GET');
      const path = join(dir, how);
      await store.get('a', path);
      expect((await readFile(path)).equals(content)).toBe(true);
      first(1, how, 'GET');
      const sink = collect();
      await store.get('a', sink);
      expect([sink.begun(), sink.bytes().equals(content)]).toEqual([2, true]);
    });

    test.each([
      ['breaks off', 'half_answer', patient],
      ['stalls', 'stall_answer', { ...patient, idleMillis: 1000 }],
    ] as const)('reads a stretch again whose body %s', async (_, how, limits) => {
      const content = randomBytes(3_000_000);
      const url = s3.urlOf(`faults/${++count}`);
      await (await open(patient, url)).put('a', await fileOf(content));
      const store = await open(limits, url);
      first(1, how, 'GET');
      s3.clear();
      const path = join(dir, `stretch-${how}`);
      const stretch = { start: 1_000_000, end: 2_500_000, sizeBytes: content.length };
      await store.get('a', path, undefined, stretch);
      expect((await readFile(path)).equals(content.subarray(1_000_000, 2_500_000))).toBe(true);
      expect(s3.requests.map(({ headers }) => headers.range)).toEqual([
        'bytes=1000000-2499999',
        'bytes=1000000-2499999',
      ]);
    });

    test('leaves no half file when every body breaks off', async () => {
      const store = await open();
      await store.put('a', await fileOf(randomBytes(100_000)));
      s3.clear();
      s3.behave(() => 'half_answer');
      const path = join(dir, 'half');
      await refusal(store.get('a', path));
      expect(existsSync(path)).toBe(false);
      expect(s3.requests).toHaveLength(3);
    });

    test.each([1000, manyParts])(
      'stores nothing of %i bytes that changed on the way',
      async (size) => {
        const store = await open();
        s3.behave((method) => (method === 'PUT' ? 'flip_request' : 'pass'));
        const error = await refusal(store.put('a', await fileOf(randomBytes(size))));
        expect(error.detail).toMatch(/BadDigest|ContentSHA256Mismatch/);
        expect(await store.head('a')).toBeNull();
        expect(await s3.openUploads()).toEqual([]);
      },
    );

    test.each([1000, manyParts])(
      'sends %i bytes with a Content-MD5 for each body',
      async (size) => {
        const store = await open();
        await store.put('a', await fileOf(randomBytes(size)));
        const puts = s3.requests.filter(({ method }) => method === 'PUT');
        expect(puts).toHaveLength(Math.ceil(size / (8 * 1024 * 1024)));
        for (const { headers } of puts) expect(headers['content-md5']).toMatch(/^.{22}==$/);
      },
    );

    /** A put of a file that grows, with what it sends; `write` appends to the file. */
    async function growing(store: ObjectStore, signal?: AbortSignal) {
      const path = await fileOf(Buffer.alloc(0));
      const put = store.beginPut?.('a', path, signal);
      if (put === undefined) throw new Error('a store of S3 can begin a put');
      let sizeBytes = 0;
      const write = async (bytes: Buffer) => {
        await appendFile(path, bytes);
        sizeBytes += bytes.length;
        put.grown(sizeBytes);
      };
      const sent = (part: number) =>
        s3.seen(
          ({ method, path: asked }) => method === 'PUT' && asked.includes(`partNumber=${part}&`),
        );
      return { ...put, write, sent };
    }

    test('sends parts of a file while it grows, and the object comes when it is finished', async () => {
      const store = await open();
      const content = randomBytes(manyParts);
      const file = await growing(store);
      const first = file.sent(2);
      await file.write(content.subarray(0, 17 * 1024 * 1024));
      await first;
      expect(await store.head('a')).toBeNull();
      await file.write(content.subarray(17 * 1024 * 1024));
      await file.finish();
      await store.get('a', join(dir, 'grown'));
      expect((await readFile(join(dir, 'grown'))).equals(content)).toBe(true);
      expect(await s3.openUploads()).toEqual([]);
    });

    test.each([0, 1000, 16 * 1024 * 1024])(
      'sends a file that ends with %i bytes in one piece',
      async (size) => {
        const store = await open();
        const content = randomBytes(size);
        const file = await growing(store);
        await file.write(content);
        await file.finish();
        await store.get('a', join(dir, 'small'));
        expect((await readFile(join(dir, 'small'))).equals(content)).toBe(true);
        expect(s3.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
      },
    );

    test.each(['is given up', 'is aborted'])(
      'leaves nothing of a file that grows when its put %s',
      async (how) => {
        const store = await open();
        const controller = new AbortController();
        const file = await growing(store, controller.signal);
        const first = file.sent(1);
        await file.write(randomBytes(17 * 1024 * 1024));
        await first;
        const reason = new Error('enough');
        if (how === 'is aborted') {
          controller.abort(reason);
          await expect(file.finish()).rejects.toBe(reason);
        }
        await file.giveUp();
        expect(await s3.openUploads()).toEqual([]);
        expect(await store.head('a')).toBeNull();
        const idle = await growing(store);
        await idle.giveUp();
        expect(await store.head('a')).toBeNull();
      },
    );

    test('says at the end what went wrong while the file grew, and leaves no parts', async () => {
      const store = await open();
      s3.behave((method, path) =>
        method === 'PUT' && path.includes('partNumber=2&') ? 'deny' : 'pass',
      );
      const file = await growing(store);
      const failed = s3.seen(({ method }) => method === 'DELETE');
      await file.write(randomBytes(17 * 1024 * 1024));
      await failed;
      await file.write(randomBytes(1000));
      expect((await refusal(file.finish())).detail).toContain('AccessDenied');
      await file.giveUp();
      expect(await s3.openUploads()).toEqual([]);
    });

    // A real server keeps what it acknowledges, and the header Range is signed.
    if (found === undefined) {
      test('does not take other bytes for the stretch that it asked for', async () => {
        const store = await open();
        await store.put('a', await fileOf(randomBytes(1000)));
        s3.behave((method) => (method === 'GET' ? 'pass_range_over' : 'pass'));
        const path = join(dir, 'whole');
        const asked = store.get('a', path, undefined, { start: 100, end: 200, sizeBytes: 1000 });
        expect((await refusal(asked)).detail).toMatch(
          /the bytes that were asked for.*header Range/,
        );
        expect(existsSync(path)).toBe(false);
      });

      test('finds out when a server kept less than it was sent', async () => {
        const store = await open();
        s3.behave((method) => (method === 'PUT' ? 'lose_half' : 'pass'));
        const error = await refusal(store.put('a', await fileOf(randomBytes(1000))));
        expect(error.detail).toContain('of its 1000 bytes 500 are there');
      });
    }

    test('takes the word of a store that does not let it look at the bucket', async () => {
      const store = await open();
      s3.behave((method, path) => (method === 'HEAD' && !path.includes('/a') ? 'deny' : 'pass'));
      expect(await store.head('a')).toBeNull();
      s3.behave((method, path) => (method === 'HEAD' && !path.includes('/a') ? 'close' : 'pass'));
      expect((await refusal(store.head('a'))).detail).toContain('ECONNRESET');
    });

    test('sends a part again, and the object is whole', async () => {
      const store = await open();
      const content = randomBytes(manyParts);
      first(2, 'close', 'PUT');
      await store.put('a', await fileOf(content));
      await store.get('a', join(dir, 'whole'));
      expect((await readFile(join(dir, 'whole'))).equals(content)).toBe(true);
      expect(await s3.openUploads()).toEqual([]);
    });

    test.each([
      ['a part fails', /partNumber=2/],
      ['the upload cannot be completed', /\?uploadId=/],
    ])('leaves no parts when %s', async (_, path) => {
      const store = await open();
      await store.put('a', await fileOf(Buffer.from('the one before')));
      s3.behave((method, asked) => (method !== 'DELETE' && path.test(asked) ? 'fail' : 'pass'));
      const error = await refusal(store.put('a', await fileOf(randomBytes(manyParts))));
      expect(error.detail).toContain('InternalError');
      expect(await s3.openUploads()).toEqual([]);
      expect(await store.head('a')).toEqual({ key: 'a', sizeBytes: 14 });
    });

    test('leaves no parts when it is aborted between them', async () => {
      const store = await open();
      const controller = new AbortController();
      const reason = new Error('enough');
      s3.behave((method, path) =>
        method === 'PUT' && /partNumber=2/.test(path) ? 'hang' : 'pass',
      );
      const seen = s3.seen(({ path }) => /partNumber=2/.test(path));
      const putting = store.put('a', await fileOf(randomBytes(manyParts)), controller.signal);
      putting.catch(() => {});
      await seen;
      controller.abort(reason);
      await expect(putting).rejects.toBe(reason);
      expect(s3.requests.some(({ method }) => method === 'DELETE')).toBe(true);
      expect(await s3.openUploads()).toEqual([]);
      expect(await store.head('a')).toBeNull();
    });

    test('says both when the parts cannot be removed either', async () => {
      const store = await open();
      s3.behave((method, path) =>
        method === 'DELETE' ? 'deny' : /partNumber=1/.test(path) ? 'fail' : 'pass',
      );
      const error = await refusal(store.put('a', await fileOf(randomBytes(manyParts))));
      expect(error.detail).toContain('InternalError');
      expect(error.cause).toBeInstanceOf(AggregateError);
    });

    test('lists the uploads that have not ended, below its prefix and page by page, and ends them', async () => {
      const prefix = `faults/uploads-${++count}`;
      const store = await open(patient, s3.urlOf(prefix));
      const names = ['records/a&b', 'records/a&b', 'records/c', 'records/d', 'records/e/ü'];
      for (const name of [...names, 'other/x']) await s3.beginUpload(prefix, name);
      await s3.beginUpload(`${prefix}-of-others`, 'records/a');
      const uploads: OpenUpload[] = [];
      for await (const upload of store.listUploads('records/')) uploads.push(upload);
      expect(uploads.map(({ key }) => key)).toEqual(names);
      expect(new Set(uploads.map(({ id }) => id)).size).toBe(5);
      for (const { startedAt } of uploads)
        expect(Math.abs(Date.now() - startedAt)).toBeLessThan(600_000);
      for (const upload of uploads.slice(1)) await store.endUpload(upload);
      for (const upload of uploads.slice(3)) await store.endUpload(upload);
      const left: OpenUpload[] = [];
      for await (const upload of store.listUploads('records/')) left.push(upload);
      expect(left).toEqual(uploads.slice(0, 1));
      await store.put('records/f', await fileOf(randomBytes(manyParts)));
      for await (const { key } of store.listUploads('records/f')) expect(key).toBe('none');
    });
  },
);

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
