import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { ObjectRef } from './objects.ts';
import { flipByte, held, prepareReaders } from './testing/reader-world.ts';

const worlds = prepareReaders();
const { onS3 } = worlds;

/** The names of the objects that were fetched. */
function fetched(): string[] {
  return worlds.s3.requests
    .filter(({ method, path }) => method === 'GET' && !path.includes('list-type'))
    .map(({ path }) => new URL(path, 'http://s3').pathname.replace(/^.*\//, ''));
}

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
  worlds.s3.behave((method) => (method === 'GET' ? 'hang' : 'pass'));
  const seen = worlds.s3.seen(({ method }) => method === 'GET');
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
  worlds.s3.behave(() => 'pass');
  await (await world.reader.open(ref)).release();
  expect(fetched()).toEqual(['a', 'a']);
  expect(await held(world)).toHaveLength(1);
});

test('a fetch that fails is not remembered', async () => {
  const world = await onS3();
  const ref = await world.put('a', randomBytes(1000));
  worlds.s3.behave((method) => (method === 'GET' ? 'deny' : 'pass'));
  const both = await Promise.allSettled([world.reader.open(ref), world.reader.open(ref)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  worlds.s3.behave(() => 'pass');
  await (await world.reader.open(ref)).release();
  expect(fetched()).toEqual(['a', 'a']);
});
