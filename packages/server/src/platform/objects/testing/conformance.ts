import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type ByteSink,
  ObjectDamaged,
  type ObjectInfo,
  ObjectMissing,
  type ObjectStore,
} from '../objects.ts';

/** An empty store, and a short way to put the same few bytes under many keys. */
type StoreUnderTest = {
  readonly store: ObjectStore;
  readonly seed: (keys: readonly string[], content: string) => Promise<void>;
};

/** Another one for each call. */
type MakeStore = () => Promise<StoreUnderTest>;

const miB = 1024 * 1024;

/** What every object store keeps, whatever it is made of. */
export function testObjectStore(name: string, makeStore: MakeStore): void {
  describe(name, () => {
    const world = prepareStores(makeStore);
    testKeys(world);
    testReads(world);
    testWrites(world);
    testLists(world);
    testMarker(world);
  });
}

type World = {
  readonly open: () => Promise<ObjectStore>;
  readonly openSeedable: () => Promise<StoreUnderTest>;
  /** Writes a file. */
  readonly fileOf: (content: Buffer) => Promise<string>;
  /** Returns the path of a file that is not there yet. */
  readonly newPath: () => string;
  readonly contentOf: (store: ObjectStore, key: string) => Promise<Buffer>;
};

/** Opens stores that are closed after each test, and keeps the files of the tests in a folder that goes with them. */
function prepareStores(makeStore: MakeStore): World {
  let dir: string;
  let opened: ObjectStore[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svcctl-objects-'));
  });
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    opened = [];
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const openSeedable = async () => {
    const made = await makeStore();
    opened.push(made.store);
    return made;
  };
  const newPath = () => join(dir, randomBytes(8).toString('hex'));
  return {
    openSeedable,
    newPath,
    open: async () => (await openSeedable()).store,
    async fileOf(content) {
      const path = newPath();
      await writeFile(path, content);
      return path;
    },
    async contentOf(store, key) {
      const path = newPath();
      await store.get(key, path);
      return await readFile(path);
    },
  };
}

/** Which keys an object may have. */
function testKeys({ open, fileOf, contentOf }: World): void {
  test.each([
    ['an empty key', ''],
    ['an absolute key', '/a/b'],
    ['a key that leads out', 'a/../../b'],
    ['a key with .', './a'],
    ['a key with an empty segment', 'a//b'],
    ['a key that ends in /', 'a/'],
    ['a key among temporary files', '.tmp/a'],
    ['a key where the marker lies', '_svcctl-store/a'],
    ['a backslash', 'a\\b'],
    ['NUL', 'a\0b'],
    ['a key of more than 1,024 bytes', `${'a'.repeat(200)}/`.repeat(6) + 'b'],
    ['a segment of more than 255 bytes', 'ü'.repeat(128)],
  ])('refuses %s', async (_, key) => {
    const store = await open();
    const path = await fileOf(Buffer.from('a'));
    await expect(store.put(key, path)).rejects.toThrow(RangeError);
    await expect(store.get(key, path)).rejects.toThrow(RangeError);
    await expect(store.head(key)).rejects.toThrow(RangeError);
    await expect(store.remove(key)).rejects.toThrow(RangeError);
  });

  test.each([
    'tenant=TX/2026-01-01_2026-01-31_seg_1.parquet',
    'tenant=100%25%20of%2F/a.parquet',
    'with space/and+plus/and&amp;.parquet',
    '%',
    '%2e%2e/a',
    'quotes\'"()*!~@:=$,;#?.parquet',
    'ünïcödé/東京/😀.parquet',
    `${'a'.repeat(200)}/${'b'.repeat(200)}/${'c'.repeat(200)}.parquet`,
    '...',
    'a/.hidden',
  ])('keeps an object under the key %s', async (key) => {
    const store = await open();
    await store.put(key, await fileOf(Buffer.from(key)));
    expect((await contentOf(store, key)).toString()).toBe(key);
    expect(await listed(store)).toEqual([{ key, sizeBytes: Buffer.byteLength(key) }]);
    await store.remove(key);
    expect(await store.head(key)).toBeNull();
    expect(await listed(store)).toEqual([]);
  });
}

/** What is read of an object, or of a stretch of it. */
function testReads({ open, fileOf, newPath }: World): void {
  test('says that there is no such object', async () => {
    const store = await open();
    await store.put('some/object', await fileOf(Buffer.from('a')));
    for (const key of ['some/other', 'some', 'some/object/below', 'nothing']) {
      await expect(store.get(key, newPath())).rejects.toThrow(ObjectMissing);
      expect(await store.head(key)).toBeNull();
      await store.remove(key);
    }
    expect(await store.head('some/object')).toEqual({ key: 'some/object', sizeBytes: 1 });
  });

  test('reads into a file that exists already', async () => {
    const store = await open();
    await store.put('a', await fileOf(Buffer.from('short')));
    const path = await fileOf(Buffer.from('something longer'));
    await store.get('a', path);
    expect((await readFile(path)).toString()).toBe('short');
  });

  test('reads into a sink, at its pace, and fails with it', async () => {
    const store = await open();
    const content = randomBytes(3 * miB);
    await store.put('a', await fileOf(content));
    const sink = collect();
    await store.get('a', sink);
    expect([sink.begun(), sink.bytes().equals(content)]).toEqual([1, true]);
    const full = new Error('the sink is full');
    const refusing = { begin() {}, write: () => Promise.reject(full) };
    await expect(store.get('a', refusing)).rejects.toThrow();
    await expect(store.get('b', sink)).rejects.toThrow(ObjectMissing);
  });

  test.each([
    ['at the beginning', 0, 4],
    ['in the middle', 4, 999],
    ['at the end', 999, 1000],
    ['that is all of it', 0, 1000],
  ])('reads a stretch %s', async (_, start, end) => {
    const store = await open();
    const content = randomBytes(1000);
    await store.put('a', await fileOf(content));
    const path = await fileOf(Buffer.from('something else'));
    await store.get('a', path, undefined, { start, end, sizeBytes: 1000 });
    expect((await readFile(path)).equals(content.subarray(start, end))).toBe(true);
  });

  test('reads no stretch of an object that has another size, or of none', async () => {
    const store = await open();
    const path = newPath();
    await store.put('a', await fileOf(randomBytes(1000)));
    const read = (key: string, start: number, end: number, sizeBytes: number) =>
      store.get(key, path, undefined, { start, end, sizeBytes });
    await expect(read('b', 0, 10, 1000)).rejects.toThrow(ObjectMissing);
    await expect(read('a', 0, 10, 1001)).rejects.toThrow(ObjectDamaged);
    await expect(read('a', 990, 1001, 1001)).rejects.toThrow(ObjectDamaged);
    await expect(read('a', 1000, 1001, 1001)).rejects.toThrow(ObjectDamaged);
    await expect(read('a', 0, 10, 999)).rejects.toThrow(ObjectDamaged);
  });

  test('throws the reason of the signal from every other call', async () => {
    const store = await open();
    await store.put('a', await fileOf(Buffer.from('a')));
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(store.get('a', newPath(), signal)).rejects.toBe(reason);
    await expect(store.head('a', signal)).rejects.toBe(reason);
    await expect(store.remove('a', signal)).rejects.toBe(reason);
    await expect(listed(store, '', signal)).rejects.toBe(reason);
    expect(await store.head('a')).not.toBeNull();
  });
}

/** What becomes of an object that is put, replaced or removed. */
function testWrites({ open, fileOf, contentOf }: World): void {
  test.each([
    ['an empty file', 0],
    ['a small file', 1000],
    ['16 MiB, the largest in one piece', 16 * miB],
    ['40 MiB and a bit, in parts', 40 * miB + 4321],
  ])('keeps %s byte for byte', async (_, size) => {
    const store = await open();
    const content = randomBytes(size);
    await store.put('folder/object.parquet', await fileOf(content));
    expect((await contentOf(store, 'folder/object.parquet')).equals(content)).toBe(true);
    expect(await store.head('folder/object.parquet')).toEqual({
      key: 'folder/object.parquet',
      sizeBytes: size,
    });
    expect(await listed(store)).toEqual([{ key: 'folder/object.parquet', sizeBytes: size }]);
  });

  test('replaces an object, a longer one by a shorter one too', async () => {
    const store = await open();
    await store.put('a', await fileOf(Buffer.from('the first one')));
    await store.put('a', await fileOf(Buffer.from('second')));
    expect((await contentOf(store, 'a')).toString()).toBe('second');
    expect(await store.head('a')).toEqual({ key: 'a', sizeBytes: 6 });
  });

  test.each([
    ['before it begins', 1000, true],
    ['of one piece midway', 15 * miB, false],
    ['of many parts midway', 40 * miB, false],
  ])('shows nothing of a put that was aborted %s', async (_, size, isEarly) => {
    const store = await open();
    const controller = new AbortController();
    const reason = new Error('enough');
    if (isEarly) controller.abort(reason);
    const path = await fileOf(randomBytes(size));
    const putting = store.put('a/b', path, controller.signal);
    setImmediate(() => setImmediate(() => controller.abort(reason)));
    await expect(putting).rejects.toBe(reason);
    expect(await store.head('a/b')).toBeNull();
    expect(await listed(store)).toEqual([]);
  });

  test('keeps an object whose file it might take, and that was removed then', async () => {
    const store = await open();
    const path = await fileOf(Buffer.from('taken'));
    await store.put('a', path, undefined, { mayTake: true });
    await rm(path);
    expect((await contentOf(store, 'a')).toString()).toBe('taken');
    await store.put('a', await fileOf(Buffer.from('another')), undefined, { mayTake: true });
    expect((await contentOf(store, 'a')).toString()).toBe('another');
  });

  test('keeps one whole object of many that are put under one key at once', async () => {
    const store = await open();
    const contents = Array.from({ length: 6 }, (_, i) => Buffer.alloc(200_000, i + 1));
    const paths = await Promise.all(contents.map(fileOf));
    await Promise.all(paths.map((path) => store.put('a/b', path)));
    const kept = await contentOf(store, 'a/b');
    expect(contents.some((content) => content.equals(kept))).toBe(true);
    expect(await listed(store)).toEqual([{ key: 'a/b', sizeBytes: kept.length }]);
  });

  test('removes an object, and a second time without complaint', async () => {
    const store = await open();
    const path = await fileOf(Buffer.from('a'));
    await store.put('a/b', path);
    await store.put('a/c', path);
    await store.remove('a/b');
    await store.remove('a/b');
    expect(keysOf(await listed(store))).toEqual(['a/c']);
  });
}

/** What lists find. */
function testLists({ open, openSeedable, fileOf }: World): void {
  test('lists by any prefix, of a folder or of a part of a name', async () => {
    const store = await open();
    const path = await fileOf(Buffer.from('a'));
    for (const key of ['a/b/c', 'a/b2', 'a2', 'b/a/x']) await store.put(key, path);
    expect(keysOf(await listed(store, ''))).toEqual(['a/b/c', 'a/b2', 'a2', 'b/a/x']);
    expect(keysOf(await listed(store, 'a'))).toEqual(['a/b/c', 'a/b2', 'a2']);
    expect(keysOf(await listed(store, 'a/'))).toEqual(['a/b/c', 'a/b2']);
    expect(keysOf(await listed(store, 'a/b'))).toEqual(['a/b/c', 'a/b2']);
    expect(keysOf(await listed(store, 'a/b/'))).toEqual(['a/b/c']);
    expect(keysOf(await listed(store, 'a/b/c'))).toEqual(['a/b/c']);
    expect(keysOf(await listed(store, 'c'))).toEqual([]);
  });

  test('lists nothing where nothing was stored yet', async () => {
    expect(await listed(await open())).toEqual([]);
  });

  test('lists 2,500 objects, each of them once', async () => {
    const { store, seed } = await openSeedable();
    const keys = Array.from({ length: 2500 }, (_, i) => `tenant=${i % 7}/${i}.parquet`);
    await seed(keys, 'few');
    const found = await listed(store);
    expect(keysOf(found)).toEqual([...keys].sort());
    expect(found.every(({ sizeBytes }) => sizeBytes === 3)).toBe(true);
    // A real server writes each of them durably.
  }, 180_000);
}

/** The marker, and the attempt to write. */
function testMarker({ open }: World): void {
  test('has a marker that only who knows it can change, and shows it to nobody else', async () => {
    const { marker, ...store } = await open();
    expect(await marker.read()).toBeNull();
    expect(await marker.swap('another', 'none')).toBe(false);
    expect(await marker.swap(null, 'first')).toBe(true);
    expect(await marker.swap(null, 'second')).toBe(false);
    expect(await marker.read()).toBe('first');
    expect(await marker.swap('first', 'second')).toBe(true);
    expect(await marker.swap('first', 'third')).toBe(false);
    expect(await marker.read()).toBe('second');
    expect(await listed(store as ObjectStore)).toEqual([]);
  });

  test('gives the marker to one of many that take it at once', async () => {
    const { marker } = await open();
    let now: string | null = null;
    for (let round = 0; round < 3; round += 1) {
      const texts = Array.from({ length: 8 }, (_, n) => `round-${round}-${n}`);
      const taken = await Promise.all(texts.map((text) => marker.swap(now, text)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      now = await marker.read();
      expect(now).toBe(texts[taken.indexOf(true)]);
    }
  });

  test('can be tried, and nothing of that stays', async () => {
    const store = await open();
    await store.tryWrite();
    await store.tryWrite();
    expect(await listed(store)).toEqual([]);
  });
}

/** A sink that keeps what it took since it was last begun. */
export function collect(): ByteSink & { bytes(): Buffer; begun(): number } {
  let [begun, pieces] = [0, [] as Buffer[]];
  return {
    begin() {
      begun += 1;
      pieces = [];
    },
    async write(bytes) {
      pieces.push(Buffer.from(bytes));
    },
    bytes: () => Buffer.concat(pieces),
    begun: () => begun,
  };
}

async function listed(
  store: ObjectStore,
  prefix = '',
  signal?: AbortSignal,
): Promise<ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const { writtenAt, ...object } of store.list(prefix, signal)) {
    // The clock of a store may be another one, but it was not written on another day.
    expect(Math.abs((writtenAt ?? 0) - Date.now())).toBeLessThan(86_400_000);
    found.push(object);
  }
  return found.sort((a, b) => (a.key < b.key ? -1 : 1));
}

function keysOf(objects: readonly ObjectInfo[]): string[] {
  return objects.map(({ key }) => key);
}
