import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createLog } from '../log.ts';
import { createFileStore } from './file-system.ts';
import { ObjectDamaged, ObjectMissing, type ObjectStore, type OpenObject } from './objects.ts';
import { createObjectReader } from './reader.ts';
import { flipByte, held, MB, prepareReaders } from './testing/reader-world.ts';

const { makeFolder, on, onFiles, onS3 } = prepareReaders();
const log = createLog('silent');

function pathIn(store: ObjectStore, key: string): string {
  return store.pathOf(key) ?? '';
}

describe.each([
  ['on the file system', onFiles],
  ['in S3', onS3],
])('an object reader %s', (_, make) => {
  test.each([false, true])('says that an object is missing (anew: %s)', async (anew) => {
    const world = await make();
    const ref = { key: 'a', sizeBytes: 1, sha256: Buffer.alloc(32) };
    await expect(world.reader.open(ref, { anew })).rejects.toThrow(ObjectMissing);
    expect(await held(world)).toEqual([]);
  });

  test.each([false, true])('finds another SHA-256 (anew: %s)', async (anew) => {
    const world = await make();
    const content = randomBytes(300_000);
    const ref = await world.put('a', content);
    content.writeUInt8(content.readUInt8(299_999) ^ 1, 299_999);
    await world.put('a', content);
    await expect(world.reader.open(ref, { anew })).rejects.toThrow(ObjectDamaged);
    await expect(world.reader.open(ref, { anew })).rejects.toThrow(/the object a has the SHA-256/);
    expect(await held(world)).toEqual([]);
  });

  test.each([false, true])('finds a truncated object (anew: %s)', async (anew) => {
    const world = await make();
    const content = randomBytes(1000);
    const ref = await world.put('a', content);
    await world.put('a', content.subarray(0, 999));
    await expect(world.reader.open(ref, { anew })).rejects.toThrow('has 999 bytes instead of 1000');
    expect(await held(world)).toEqual([]);
  });

  test('opens an object, again and again', async () => {
    const world = await make();
    const content = randomBytes(1000);
    const ref = await world.put('tenant=100%25/a', content);
    for (const anew of [false, true, false, true]) {
      const object = await world.reader.open(ref, { anew });
      expect((await readFile(object.path)).equals(content)).toBe(true);
      await object.release();
      await object.release();
    }
  });

  test('keeps readable what was opened anew when the object is replaced and removed', async () => {
    const world = await make();
    const content = randomBytes(1000);
    const ref = await world.put('a', content);
    const object = await world.reader.open(ref, { anew: true });
    await world.put('a', randomBytes(500));
    expect((await readFile(object.path)).equals(content)).toBe(true);
    await world.store.remove('a');
    expect((await readFile(object.path)).equals(content)).toBe(true);
    await object.release();
  });

  test('throws the reason of the signal', async () => {
    const world = await make();
    const ref = await world.put('a', randomBytes(1000));
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    for (const anew of [false, true]) {
      await expect(world.reader.open(ref, { anew, signal })).rejects.toBe(reason);
    }
  });

  test('ends at whatever moment the signal is aborted, and leaves nothing behind', async () => {
    const world = await make();
    const content = randomBytes(MB);
    const ref = await world.put('a', content);
    const reason = new Error('the reader hung up');
    for (let turns = 0; turns < 60; turns++) {
      const aborting = new AbortController();
      const opening = world.reader.open(ref, { anew: true, signal: aborting.signal });
      opening.catch(() => {});
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      aborting.abort(reason);
      const opened = await opening.catch((error: unknown) => error);
      if (opened === reason) continue;
      expect(opened).toMatchObject({ path: expect.any(String) });
      await (opened as OpenObject).release();
    }
    const opened = await world.reader.open(ref, { anew: true });
    expect((await readFile(opened.path)).equals(content)).toBe(true);
    await opened.release();
    expect((await held(world)).filter((name) => name.includes('link-'))).toEqual([]);
  });

  test('leaves nothing behind when it is closed', async () => {
    const world = await make();
    await world.reader.open(await world.put('a', randomBytes(1000)), { anew: true });
    await world.reader.close();
    expect(await readdir(world.dir)).toEqual([]);
  });
});

describe('on the file system', () => {
  test('a page reads in place, an export through a link that ends with it', async () => {
    const world = await onFiles();
    const ref = await world.put('a', randomBytes(1000));
    const page = await world.reader.open(ref);
    expect(page.path).toBe(world.store.pathOf('a'));
    expect(await held(world)).toEqual([]);
    const first = await world.reader.open(ref, { anew: true });
    const second = await world.reader.open(ref, { anew: true });
    expect(first.path).not.toBe(second.path);
    expect((await stat(first.path)).ino).toBe((await stat(page.path)).ino);
    await first.release();
    expect(await held(world)).toHaveLength(1);
    await second.release();
    expect(await held(world)).toEqual([]);
  });

  test('what was checked once is hashed again only anew, or when its file changed', async () => {
    const { reader, store, put } = await onFiles();
    for (const look of ['changed', 'anew'] as const) {
      const ref = await put(look, randomBytes(1000));
      const path = pathIn(store, look);
      await utimes(path, new Date(5000), new Date(5000));
      await reader.open(ref);
      await flipByte(path);
      await reader.open(ref);
      if (look === 'changed') await utimes(path, new Date(6000), new Date(6000));
      const anew = look === 'anew';
      await expect(reader.open(ref, { anew })).rejects.toThrow(ObjectDamaged);
      await expect(reader.open(ref)).rejects.toThrow(ObjectDamaged);
    }
  });

  test('a file that became shorter or another one is found without anew', async () => {
    const { reader, store, put } = await onFiles();
    const ref = await put('a', randomBytes(1000));
    await reader.open(ref);
    await put('a', randomBytes(1000));
    await expect(reader.open(ref)).rejects.toThrow(ObjectDamaged);
    await truncate(pathIn(store, 'a'), 10);
    await expect(reader.open(ref)).rejects.toThrow('has 10 bytes');
  });

  test('one file is judged by each reference by itself', async () => {
    const { reader, put } = await onFiles();
    const ref = await put('a', randomBytes(1000));
    await reader.open(ref);
    const wrong = { ...ref, sha256: Buffer.alloc(32) };
    await expect(reader.open(wrong)).rejects.toThrow(ObjectDamaged);
    await reader.open(ref);
  });

  test('an export reads a copy where a link cannot be made', async () => {
    const files = createFileStore(await makeFolder('store'));
    // Nothing of another file system can be linked here.
    const world = await on({ ...files, pathOf: () => '/proc/version' });
    const content = randomBytes(1000);
    const object = await world.reader.open(await world.put('a', content), { anew: true });
    await files.remove('a');
    expect((await readFile(object.path)).equals(content)).toBe(true);
    expect(await held(world)).toHaveLength(1);
    await object.release();
  });
});

test('clears what processes that have ended left, and nothing else', async () => {
  const store = createFileStore(await makeFolder('store'));
  const dir = await makeFolder('left');
  const { pid } = spawnSync('true');
  const alive = `${process.ppid}-x`;
  for (const name of [`${pid}-x`, alive, 'other']) {
    await mkdir(join(dir, name), { recursive: true });
    await writeFile(join(dir, name, '1.parquet'), 'x');
  }
  const readers = [1, 2].map(() => createObjectReader(store, { dir, maxBytes: MB, log }));
  const missing = { key: 'a', sizeBytes: 1, sha256: Buffer.alloc(32) };
  for (const reader of readers) {
    await expect(reader.open(missing, { anew: true })).rejects.toThrow(ObjectMissing);
  }
  const names = await readdir(dir);
  expect(names).toHaveLength(4);
  expect(names).toEqual(expect.arrayContaining([alive, 'other']));
  for (const reader of readers) await reader.close();
  expect((await readdir(dir)).sort()).toEqual([alive, 'other'].sort());
});

test('says why the folder cannot be made, and makes it when it can', async () => {
  const store = createFileStore(await makeFolder('store'));
  const base = await makeFolder('blocked');
  const path = join(base, 'object');
  await writeFile(path, 'x');
  await store.put('a', path);
  const dir = join(base, 'blocked');
  await writeFile(dir, 'a file');
  const reader = createObjectReader(store, { dir, maxBytes: MB, log });
  const sha256 = createHash('sha256').update('x').digest();
  const ref = { key: 'a', sizeBytes: 1, sha256 };
  await expect(reader.open(ref, { anew: true })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
    detail: expect.stringContaining(dir),
  });
  await rm(dir);
  await (await reader.open(ref, { anew: true })).release();
  await reader.close();
});
