import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ObjectDamaged, ObjectMissing, type ObjectPiece, type ObjectRef } from './objects.ts';
import { held, prepareReaders, type ReaderWorld } from './testing/reader-world.ts';

const worlds = prepareReaders();
const { onFiles, onS3 } = worlds;

type Pieces = [ObjectPiece, ObjectPiece, ObjectPiece, ObjectPiece];

/** An object that is these many bytes, one piece after the other. */
async function inPieces(
  world: ReaderWorld,
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
  worlds.s3.clear();
  return { ref, content, pieces: pieces as Pieces };
}

/** What each GET asked for. */
function ranges(): (string | undefined)[] {
  return worlds.s3.requests
    .filter(({ method }) => method === 'GET')
    .map(({ headers }) => headers.range?.replace('bytes=', ''));
}

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
  worlds.s3.behave((method) => (method === 'GET' ? 'deny' : 'pass'));
  const failing = world.reader.open(ref, { pieces: [first, second] });
  await expect(failing).rejects.toMatchObject({ code: 'cold_tier_unavailable' });
  worlds.s3.behave(() => 'pass');
  const object = await world.reader.open(ref, { pieces: [second, third] });
  expect(object.path).toBe(kept.path);
  await Promise.all([kept.release(), object.release()]);
});

test('a fetch that nobody waits for any more ends, and leaves nothing behind', async () => {
  const world = await onS3();
  const { ref, pieces } = await inPieces(world, [1000, 1000, 1000]);
  worlds.s3.behave((method) => (method === 'GET' ? 'hang' : 'pass'));
  const seen = worlds.s3.seen(({ method }) => method === 'GET');
  const controller = new AbortController();
  const reason = new Error('enough');
  const { signal } = controller;
  const opening = world.reader.open(ref, { pieces: pieces.slice(0, 1), signal });
  opening.catch(() => {});
  await seen;
  controller.abort(reason);
  await expect(opening).rejects.toBe(reason);
  expect(await held(world)).toEqual([]);
  worlds.s3.behave(() => 'pass');
  await (await world.reader.open(ref, { pieces })).release();
});

test('a store of files reads the object in place', async () => {
  const world = await onFiles();
  const { ref, pieces } = await inPieces(world, [1000, 1000]);
  expect(world.reader.isRemote).toBe(false);
  const object = await world.reader.open(ref, { pieces: pieces.slice(0, 1) });
  expect(object.path).toBe(world.store.pathOf(ref.key));
});
