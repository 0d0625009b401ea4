import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFileStore } from '../platform/objects/file-system.ts';
import { ObjectDamaged, ObjectMissing, type ObjectStore } from '../platform/objects/objects.ts';
import { describeEachS3, listed } from '../platform/objects/testing/each-s3.ts';
import { copyObject } from './objects.ts';

const from = 'records/tenant=A B/seg_1.parquet';
const to = 'objects/0123/records/tenant=A B/seg_1.parquet';
const content = randomBytes(5000);
const object = { size_bytes: content.length, sha256: sha256Of(content) };

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describeEachS3((world) => {
  const copy = (source: ObjectStore, target: ObjectStore, expected = object) =>
    copyObject(
      { from: { store: source, key: from }, to: { store: target, key: to }, object: expected },
      { spoolDir: world.dir, signal: new AbortController().signal },
    );
  const put = async (store: ObjectStore) => store.put(from, await world.fileOf(content));
  const contentOf = async (store: ObjectStore) => {
    const path = await world.fileOf(Buffer.alloc(0));
    await store.get(to, path);
    return readFile(path);
  };
  /** How many requests sent the object itself. */
  const uploads = () =>
    world.s3.requests.filter(
      ({ method, headers }) => method === 'PUT' && headers['x-amz-copy-source'] === undefined,
    ).length;

  test('on one server the server copies an object, and it is read where it lies then', async () => {
    const [source, place] = [await world.open(), await world.open()];
    await put(source);
    world.s3.clear();
    await copy(source, place);
    expect(uploads()).toBe(0);
    expect((await contentOf(place)).equals(content)).toBe(true);
  });

  test('a server that refuses to copy gets the object as it was read', async () => {
    const [source, place] = [await world.open(), await world.open()];
    await put(source);
    world.s3.clear();
    world.first(1, 'deny', 'PUT');
    await copy(source, place);
    expect(uploads()).toBe(1);
    expect((await contentOf(place)).equals(content)).toBe(true);
  });

  test('of an object that is damaged or missing nothing is left in the place', async () => {
    const [source, place] = [await world.open(), await world.open()];
    await expect(copy(source, place)).rejects.toThrow(ObjectMissing);
    await put(source);
    const other = { ...object, sha256: sha256Of(Buffer.from('other')) };
    await expect(copy(source, place, other)).rejects.toThrow(ObjectDamaged);
    expect(await listed(place)).toEqual([]);
  });

  test('an object that lies on no server, or on another, is read and written', async () => {
    const place = await world.open();
    const files = createFileStore(join(world.dir, 'store'));
    await put(files);
    await copy(files, place);
    expect((await contentOf(place)).equals(content)).toBe(true);
    const url = new URL(world.nextUrl());
    await put(await world.open(undefined, url.href));
    url.searchParams.set('region', 'eu-elsewhere-1');
    const elsewhere = await world.open(undefined, url.href);
    expect(await place.copyFrom?.(elsewhere, { from, to })).toBe(false);
  });
});
