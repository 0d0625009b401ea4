import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OpenUpload } from './objects.ts';
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

  test.each([0, 1000, 16 * 1024 * 1024])('sends a file of %i bytes in one piece', async (size) => {
    const store = await world.open();
    const content = randomBytes(size);
    await store.put('a', await world.fileOf(content));
    await store.get('a', join(world.dir, 'small'));
    expect((await readFile(join(world.dir, 'small'))).equals(content)).toBe(true);
    expect(world.s3.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
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
