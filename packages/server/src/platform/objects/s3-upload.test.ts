import { randomBytes } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ObjectStore, OpenUpload } from './objects.ts';
import { describeEachS3, manyParts, patient, refusal } from './testing/each-s3.ts';

describeEachS3((world) => {
  test.each([1000, manyParts])(
    'stores nothing of %i bytes that changed on the way',
    async (size) => {
      const store = await world.open();
      world.s3.behave((method) => (method === 'PUT' ? 'flip_request' : 'pass'));
      const error = await refusal(store.put('a', await world.fileOf(randomBytes(size))));
      expect(error.detail).toMatch(/BadDigest|ContentSHA256Mismatch/);
      expect(await store.head('a')).toBeNull();
      expect(await world.s3.openUploads()).toEqual([]);
    },
  );

  test.each([1000, manyParts])('sends %i bytes with a Content-MD5 for each body', async (size) => {
    const store = await world.open();
    await store.put('a', await world.fileOf(randomBytes(size)));
    const puts = world.s3.requests.filter(({ method }) => method === 'PUT');
    expect(puts).toHaveLength(Math.ceil(size / (8 * 1024 * 1024)));
    for (const { headers } of puts) expect(headers['content-md5']).toMatch(/^.{22}==$/);
  });

  /** A put of a file that grows, with what it sends; `write` appends to the file. */
  async function growing(store: ObjectStore, signal?: AbortSignal) {
    const path = await world.fileOf(Buffer.alloc(0));
    const put = store.beginPut?.('a', path, signal);
    if (put === undefined) throw new Error('a store of S3 can begin a put');
    let sizeBytes = 0;
    const write = async (bytes: Buffer) => {
      await appendFile(path, bytes);
      sizeBytes += bytes.length;
      put.grown(sizeBytes);
    };
    const sent = (part: number) =>
      world.s3.seen(
        ({ method, path: asked }) => method === 'PUT' && asked.includes(`partNumber=${part}&`),
      );
    return { ...put, write, sent };
  }

  test('sends parts of a file while it grows, and the object comes when it is finished', async () => {
    const store = await world.open();
    const content = randomBytes(manyParts);
    const file = await growing(store);
    const first = file.sent(2);
    await file.write(content.subarray(0, 17 * 1024 * 1024));
    await first;
    expect(await store.head('a')).toBeNull();
    await file.write(content.subarray(17 * 1024 * 1024));
    await file.finish();
    await store.get('a', join(world.dir, 'grown'));
    expect((await readFile(join(world.dir, 'grown'))).equals(content)).toBe(true);
    expect(await world.s3.openUploads()).toEqual([]);
  });

  test.each([0, 1000, 16 * 1024 * 1024])(
    'sends a file that ends with %i bytes in one piece',
    async (size) => {
      const store = await world.open();
      const content = randomBytes(size);
      const file = await growing(store);
      await file.write(content);
      await file.finish();
      await store.get('a', join(world.dir, 'small'));
      expect((await readFile(join(world.dir, 'small'))).equals(content)).toBe(true);
      expect(world.s3.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
    },
  );

  test.each(['is given up', 'is aborted'])(
    'leaves nothing of a file that grows when its put %s',
    async (how) => {
      const store = await world.open();
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
      expect(await world.s3.openUploads()).toEqual([]);
      expect(await store.head('a')).toBeNull();
      const idle = await growing(store);
      await idle.giveUp();
      expect(await store.head('a')).toBeNull();
    },
  );

  test('says at the end what went wrong while the file grew, and leaves no parts', async () => {
    const store = await world.open();
    world.s3.behave((method, path) =>
      method === 'PUT' && path.includes('partNumber=2&') ? 'deny' : 'pass',
    );
    const file = await growing(store);
    const failed = world.s3.seen(({ method }) => method === 'DELETE');
    await file.write(randomBytes(17 * 1024 * 1024));
    await failed;
    await file.write(randomBytes(1000));
    expect((await refusal(file.finish())).detail).toContain('AccessDenied');
    await file.giveUp();
    expect(await world.s3.openUploads()).toEqual([]);
  });

  // A real server keeps what it acknowledges.
  if (world.found === undefined) {
    test('finds out when a server kept less than it was sent', async () => {
      const store = await world.open();
      world.s3.behave((method) => (method === 'PUT' ? 'lose_half' : 'pass'));
      const error = await refusal(store.put('a', await world.fileOf(randomBytes(1000))));
      expect(error.detail).toContain('of its 1000 bytes 500 are there');
    });
  }

  test('sends a part again, and the object is whole', async () => {
    const store = await world.open();
    const content = randomBytes(manyParts);
    world.first(2, 'close', 'PUT');
    await store.put('a', await world.fileOf(content));
    await store.get('a', join(world.dir, 'whole'));
    expect((await readFile(join(world.dir, 'whole'))).equals(content)).toBe(true);
    expect(await world.s3.openUploads()).toEqual([]);
  });

  test.each([
    ['a part fails', /partNumber=2/],
    ['the upload cannot be completed', /\?uploadId=/],
  ])('leaves no parts when %s', async (_, path) => {
    const store = await world.open();
    await store.put('a', await world.fileOf(Buffer.from('the one before')));
    world.s3.behave((method, asked) => (method !== 'DELETE' && path.test(asked) ? 'fail' : 'pass'));
    const error = await refusal(store.put('a', await world.fileOf(randomBytes(manyParts))));
    expect(error.detail).toContain('InternalError');
    expect(await world.s3.openUploads()).toEqual([]);
    expect(await store.head('a')).toEqual({ key: 'a', sizeBytes: 14 });
  });

  test('leaves no parts when it is aborted between them', async () => {
    const store = await world.open();
    const controller = new AbortController();
    const reason = new Error('enough');
    world.s3.behave((method, path) =>
      method === 'PUT' && /partNumber=2/.test(path) ? 'hang' : 'pass',
    );
    const seen = world.s3.seen(({ path }) => /partNumber=2/.test(path));
    const putting = store.put('a', await world.fileOf(randomBytes(manyParts)), controller.signal);
    putting.catch(() => {});
    await seen;
    controller.abort(reason);
    await expect(putting).rejects.toBe(reason);
    expect(world.s3.requests.some(({ method }) => method === 'DELETE')).toBe(true);
    expect(await world.s3.openUploads()).toEqual([]);
    expect(await store.head('a')).toBeNull();
  });

  test('says both when the parts cannot be removed either', async () => {
    const store = await world.open();
    world.s3.behave((method, path) =>
      method === 'DELETE' ? 'deny' : /partNumber=1/.test(path) ? 'fail' : 'pass',
    );
    const error = await refusal(store.put('a', await world.fileOf(randomBytes(manyParts))));
    expect(error.detail).toContain('InternalError');
    expect(error.cause).toBeInstanceOf(AggregateError);
  });

  test('lists the uploads that have not ended, below its prefix and page by page, and ends them', async () => {
    const prefix = 'uploads of us';
    const store = await world.open(patient, world.s3.urlOf(prefix));
    const names = ['records/a&b', 'records/a&b', 'records/c', 'records/d', 'records/e/ü'];
    for (const name of [...names, 'other/x']) await world.s3.beginUpload(prefix, name);
    await world.s3.beginUpload(`${prefix}-of-others`, 'records/a');
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
    await store.put('records/f', await world.fileOf(randomBytes(manyParts)));
    for await (const { key } of store.listUploads('records/f')) expect(key).toBe('none');
  });
});
