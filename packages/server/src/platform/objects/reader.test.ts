import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import { createLog } from '../log.ts';
import { createFileStore } from './file-system.ts';
import {
  ObjectDamaged,
  ObjectMissing,
  type ObjectPiece,
  type ObjectReader,
  type ObjectRef,
  type ObjectStore,
  type OpenObject,
} from './objects.ts';
import { createObjectReader } from './reader.ts';
import { createS3Store } from './s3.ts';

const log = createLog('silent');
const MB = 1_000_000;

let base: string;
let s3: TestS3;
let closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'svcctl-reader-'));
  s3 = await startS3();
});
afterEach(async () => {
  s3.behave(() => 'pass');
  for (const close of closers.reverse()) await close();
  closers = [];
});
afterAll(async () => {
  await s3.close();
  await rm(base, { recursive: true, force: true });
});

type World = {
  store: ObjectStore;
  reader: ObjectReader;
  dir: string;
  put: (key: string, content: Buffer) => Promise<ObjectRef>;
};

async function makeWorld(store: ObjectStore, maxBytes: number): Promise<World> {
  const dir = join(await mkdtemp(join(base, 'reader-')), 'cache');
  const reader = createObjectReader(store, { dir, maxBytes, log });
  closers.push(() => store.close());
  closers.push(() => reader.close());
  const put = async (key: string, content: Buffer) => {
    const path = join(base, randomBytes(8).toString('hex'));
    await writeFile(path, content);
    await store.put(key, path);
    const sha256 = createHash('sha256').update(content).digest();
    return { key, sizeBytes: content.length, sha256 };
  };
  return { store, reader, dir, put };
}

async function onFiles(maxBytes = MB): Promise<World> {
  return makeWorld(createFileStore(await mkdtemp(join(base, 'store-'))), maxBytes);
}

async function onS3(maxBytes = MB): Promise<World> {
  const prefix = randomBytes(8).toString('hex');
  const world = await makeWorld(await createS3Store(s3.urlOf(prefix)), maxBytes);
  s3.clear();
  return world;
}

/** Files in the folder of the reader. */
async function held({ dir }: World): Promise<string[]> {
  const names = await readdir(dir, { recursive: true });
  return names.filter((name) => name.endsWith('.parquet'));
}

function fetched(): string[] {
  return s3.requests
    .filter(({ method, path }) => method === 'GET' && !path.includes('list-type'))
    .map(({ path }) => new URL(path, 'http://s3').pathname.replace(/^.*\//, ''));
}

type Pieces = [ObjectPiece, ObjectPiece, ObjectPiece, ObjectPiece];

/** An object that is these many bytes, one piece after the other. */
async function inPieces(
  world: World,
  sizes: readonly number[],
  key = 'a',
): Promise<{ ref: ObjectRef; content: Buffer; pieces: Pieces }> {
  const contents = sizes.map((size) => randomBytes(size));
  const content = Buffer.concat(contents);
  const ref = await world.put(key, content);
  let start = 0;
  const pieces = contents.map((bytes) => {
    const sha256 = createHash('sha256').update(bytes).digest();
    const piece = { start, end: start + bytes.length, sha256 };
    start = piece.end;
    return piece;
  });
  s3.clear();
  return { ref, content, pieces: pieces as Pieces };
}

/** What each GET asked for. */
function ranges(): (string | undefined)[] {
  return s3.requests
    .filter(({ method }) => method === 'GET')
    .map(({ headers }) => headers.range?.replace('bytes=', ''));
}

/** One bit, in place, with the times it had before. */
async function flipByte(path: string): Promise<void> {
  const { atime, mtime } = await stat(path);
  const file = await openFile(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, 100);
  await file.write(Buffer.from([byte.readUInt8(0) ^ 1]), 0, 1, 100);
  await file.close();
  await utimes(path, atime, mtime);
}

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
    const files = createFileStore(await mkdtemp(join(base, 'store-')));
    // Nothing of another file system can be linked here.
    const world = await makeWorld({ ...files, pathOf: () => '/proc/version' }, MB);
    const content = randomBytes(1000);
    const object = await world.reader.open(await world.put('a', content), { anew: true });
    await files.remove('a');
    expect((await readFile(object.path)).equals(content)).toBe(true);
    expect(await held(world)).toHaveLength(1);
    await object.release();
  });
});

describe('in S3', () => {
  test('an object is fetched once for all who ask at the same time, and kept', async () => {
    const { reader, put } = await onS3();
    const ref = await put('a', randomBytes(100_000));
    const opened = await Promise.all(
      Array.from({ length: 8 }, (_, i) => reader.open(ref, { anew: i % 2 === 0 })),
    );
    expect(new Set(opened.map(({ path }) => path)).size).toBe(1);
    await Promise.all(opened.map((object) => object.release()));
    await reader.open(ref);
    expect(fetched()).toEqual(['a']);
  });

  test('the copies stay within their bound, the least recently used go first', async () => {
    const world = await onS3(2500);
    const refs = [];
    for (const key of ['a', 'b', 'c']) refs.push(await world.put(key, randomBytes(1000)));
    const [a, b, c] = refs as [ObjectRef, ObjectRef, ObjectRef];
    for (const ref of [a, b, a, c]) await (await world.reader.open(ref)).release();
    expect(await held(world)).toHaveLength(2);
    for (const ref of [a, c, b]) await (await world.reader.open(ref)).release();
    expect(fetched()).toEqual(['a', 'b', 'c', 'b']);
    expect(await held(world)).toHaveLength(2);
  });

  test('a copy that is being read is never removed, and goes when its turn comes', async () => {
    const world = await onS3(1500);
    const content = randomBytes(1000);
    const pinned = await world.reader.open(await world.put('a', content));
    for (const key of ['b', 'c']) {
      await (await world.reader.open(await world.put(key, randomBytes(1000)))).release();
    }
    expect((await readFile(pinned.path)).equals(content)).toBe(true);
    const next = await world.reader.open(await world.put('d', randomBytes(1000)));
    await pinned.release();
    await next.release();
    expect(await held(world)).toHaveLength(1);
  });

  test('an object larger than the bound can be read, and is not kept', async () => {
    const world = await onS3(500);
    const content = randomBytes(1000);
    const ref = await world.put('a', content);
    const object = await world.reader.open(ref);
    expect((await readFile(object.path)).equals(content)).toBe(true);
    await object.release();
    expect(await held(world)).toEqual([]);
  });

  test('a copy that was spoilt on the local disk is fetched anew', async () => {
    const world = await onS3();
    const content = randomBytes(1000);
    const ref = await world.put('a', content);
    const object = await world.reader.open(ref);
    await object.release();
    await flipByte(object.path);
    const again = await world.reader.open(ref, { anew: true });
    expect((await readFile(again.path)).equals(content)).toBe(true);
    await again.release();
    await rm(again.path);
    const third = await world.reader.open(ref);
    expect((await readFile(third.path)).equals(content)).toBe(true);
    expect(fetched()).toEqual(['a', 'a', 'a']);
    expect(await held(world)).toHaveLength(1);
  });

  test('one who gives up leaves the fetch to the others; after the last one it ends', async () => {
    const world = await onS3();
    const ref = await world.put('a', randomBytes(1000));
    s3.behave((method) => (method === 'GET' ? 'hang' : 'pass'));
    const seen = s3.seen(({ method }) => method === 'GET');
    const [one, two] = [new AbortController(), new AbortController()];
    const reason = new Error('enough');
    const opening = [one, two].map(({ signal }) => world.reader.open(ref, { signal }));
    for (const work of opening) work.catch(() => {});
    await seen;
    one.abort(reason);
    await expect(opening[0]).rejects.toBe(reason);
    expect(fetched()).toEqual(['a']);
    two.abort(reason);
    await expect(opening[1]).rejects.toBe(reason);
    s3.behave(() => 'pass');
    await (await world.reader.open(ref)).release();
    expect(fetched()).toEqual(['a', 'a']);
    expect(await held(world)).toHaveLength(1);
  });

  test('a fetch that fails is not remembered', async () => {
    const world = await onS3();
    const ref = await world.put('a', randomBytes(1000));
    s3.behave((method) => (method === 'GET' ? 'deny' : 'pass'));
    const both = await Promise.allSettled([world.reader.open(ref), world.reader.open(ref)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    s3.behave(() => 'pass');
    await (await world.reader.open(ref)).release();
    expect(fetched()).toEqual(['a', 'a']);
  });
});

describe('in pieces', () => {
  test('only those are fetched that are asked for, each once, and kept at their places', async () => {
    const world = await onS3();
    const { ref, content, pieces } = await inPieces(world, [1000, 2000, 3000, 500]);
    const [first, second, , last] = pieces;
    const object = await world.reader.open(ref, { pieces: [first, last] });
    const others = await Promise.all(
      Array.from({ length: 4 }, () => world.reader.open(ref, { pieces: [second, last] })),
    );
    expect(ranges()).toEqual(['0-999', '6000-6499', '1000-2999']);
    expect(new Set([object, ...others].map(({ path }) => path)).size).toBe(1);
    const file = await readFile(object.path);
    expect(file.length).toBe(6500);
    expect(file.subarray(0, 3000).equals(content.subarray(0, 3000))).toBe(true);
    expect(file.subarray(6000).equals(content.subarray(6000))).toBe(true);
    expect(file.subarray(3000, 6000).every((byte) => byte === 0)).toBe(true);
    await Promise.all([object, ...others].map((each) => each.release()));
    await (await world.reader.open(ref, { pieces: [second] })).release();
    expect(ranges()).toHaveLength(3);
    expect(await held(world)).toHaveLength(1);
  });

  test('whoever wants the object anew, or whole, gets all of it, and that serves for pieces', async () => {
    const world = await onS3();
    const { ref, content, pieces } = await inPieces(world, [1000, 1000, 1000]);
    await (await world.reader.open(ref, { pieces: pieces.slice(0, 1) })).release();
    for (const anew of [true, false]) {
      const object = await world.reader.open(ref, { anew, pieces: anew ? pieces : undefined });
      expect((await readFile(object.path)).equals(content)).toBe(true);
      await object.release();
    }
    await (await world.reader.open(ref, { pieces: pieces.slice(1) })).release();
    expect(ranges()).toEqual(['0-999', undefined]);
  });

  test('one that was changed in the store is found, those that were not can be read', async () => {
    const world = await onS3();
    const { ref, content, pieces } = await inPieces(world, [1000, 1000, 1000]);
    const changed = Buffer.from(content);
    changed.writeUInt8(content.readUInt8(1500) ^ 1, 1500);
    await world.put(ref.key, changed);
    const [first, second, third] = pieces;
    for (let time = 0; time < 2; time += 1) {
      const opening = world.reader.open(ref, { pieces: [first, second] });
      await expect(opening).rejects.toThrow(ObjectDamaged);
      await expect(opening).rejects.toThrow('bytes from 1000 to 2000');
    }
    await (await world.reader.open(ref, { pieces: [first, third] })).release();
    await expect(world.reader.open(ref)).rejects.toThrow(ObjectDamaged);
    await world.put(ref.key, changed.subarray(0, 2900));
    await expect(world.reader.open(ref, { pieces: [second] })).rejects.toThrow(ObjectDamaged);
    await world.store.remove(ref.key);
    await expect(world.reader.open(ref, { pieces: [second] })).rejects.toThrow(ObjectMissing);
    await world.put(ref.key, content);
    await (await world.reader.open(ref, { pieces: [second] })).release();
  });

  test('they count towards the bound, and go with their copy', async () => {
    const world = await onS3(4500);
    const a = await inPieces(world, [1000, 2000, 3000], 'a');
    const b = await inPieces(world, [1000, 2000, 3000], 'b');
    const open = async ({ ref, pieces }: typeof a, ...wanted: number[]) => {
      const some = pieces.filter((_, n) => wanted.includes(n));
      await (await world.reader.open(ref, { pieces: some })).release();
    };
    await open(a, 0, 1);
    await open(b, 0);
    expect(await held(world)).toHaveLength(2);
    await open(b, 1);
    expect(await held(world)).toHaveLength(1);
    await open(b, 0, 1);
    expect(ranges()).toHaveLength(4);
    await open(a, 0);
    expect(ranges()).toHaveLength(5);
    expect(await held(world)).toHaveLength(2);
  });

  test('a copy that was changed on the local disk is made anew', async () => {
    const world = await onS3();
    const { ref, content, pieces } = await inPieces(world, [1000, 1000, 1000]);
    const [first, second] = pieces;
    const spoil = [
      (path: string) => writeFile(path, randomBytes(3000)),
      (path: string) => truncate(path, 10),
      (path: string) => rm(path),
    ];
    for (const change of spoil) {
      const before = await world.reader.open(ref, { pieces: [first] });
      await before.release();
      await change(before.path);
      const object = await world.reader.open(ref, { pieces: [first, second] });
      const file = await readFile(object.path);
      expect(file.subarray(0, 2000).equals(content.subarray(0, 2000))).toBe(true);
      await object.release();
    }
    expect(await held(world)).toHaveLength(1);
  });

  test('one that cannot be fetched fails its readers alone, and is tried again', async () => {
    const world = await onS3();
    const { ref, pieces } = await inPieces(world, [1000, 1000, 1000]);
    const [first, second, third] = pieces;
    const kept = await world.reader.open(ref, { pieces: [first] });
    s3.behave((method) => (method === 'GET' ? 'deny' : 'pass'));
    const failing = world.reader.open(ref, { pieces: [first, second] });
    await expect(failing).rejects.toMatchObject({ code: 'cold_tier_unavailable' });
    s3.behave(() => 'pass');
    const object = await world.reader.open(ref, { pieces: [second, third] });
    expect(object.path).toBe(kept.path);
    await Promise.all([kept.release(), object.release()]);
  });

  test('a fetch that nobody waits for any more ends, and leaves nothing behind', async () => {
    const world = await onS3();
    const { ref, pieces } = await inPieces(world, [1000, 1000, 1000]);
    s3.behave((method) => (method === 'GET' ? 'hang' : 'pass'));
    const seen = s3.seen(({ method }) => method === 'GET');
    const controller = new AbortController();
    const reason = new Error('enough');
    const { signal } = controller;
    const opening = world.reader.open(ref, { pieces: pieces.slice(0, 1), signal });
    opening.catch(() => {});
    await seen;
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
    expect(await held(world)).toEqual([]);
    s3.behave(() => 'pass');
    await (await world.reader.open(ref, { pieces })).release();
  });

  test('a store of files reads the object in place', async () => {
    const world = await onFiles();
    const { ref, pieces } = await inPieces(world, [1000, 1000]);
    expect(world.reader.isRemote).toBe(false);
    const object = await world.reader.open(ref, { pieces: pieces.slice(0, 1) });
    expect(object.path).toBe(pathIn(world.store, ref.key));
  });
});

test('clears what processes that have ended left, and nothing else', async () => {
  const store = createFileStore(await mkdtemp(join(base, 'store-')));
  const dir = join(base, 'left');
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
  const store = createFileStore(await mkdtemp(join(base, 'store-')));
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
