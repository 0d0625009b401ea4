import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { idOf, openFrames, openSealed, openText, sealedSize, sealFile, sealFrame } from './seal.ts';

const folder = useFolder();
const { signal } = new AbortController();
const newKey = () => {
  const bytes = randomBytes(32);
  return { id: idOf(bytes), bytes };
};
const [key, other] = [newKey(), newKey()];
const find = (id: string) => (id === key.id ? key.bytes : null);

async function read(path: string) {
  const found: unknown[] = [];
  for await (const { rows, bytes } of openFrames(path, find)) found.push([rows, bytes?.toString()]);
  return found;
}

test('frames are opened by their keys, and those of a key that is gone are passed over', async () => {
  const path = join(folder.path, 'frames');
  const frames = [
    sealFrame(key, Buffer.from('own'), 3),
    sealFrame(other, Buffer.from('foreign'), 4),
    sealFrame(null, Buffer.from('open'), 5),
  ];
  await writeFile(path, Buffer.concat(frames));
  expect(await read(path)).toEqual([
    [3, 'own'],
    [4, undefined],
    [5, 'open'],
  ]);
  expect(openText(sealFrame(key, Buffer.from('é')).toString('base64'), find)).toBe('é');
});

test('the same rows become the same frame, and no others share its key', () => {
  const seal = (by: typeof key, text: string, rows = 1) => sealFrame(by, Buffer.from(text), rows);
  const nameOf = (frame: Buffer) => frame.toString('hex', 24, 56);
  expect(seal(key, 'a')).toEqual(seal(key, 'a'));
  const names = [seal(key, 'a'), seal(key, 'b'), seal(other, 'a'), seal(key, 'a', 2)].map(nameOf);
  expect(new Set(names).size).toBe(4);
});

test('no byte of a frame can be changed, and none be cut off', async () => {
  const path = join(folder.path, 'frame');
  const frame = sealFrame(key, Buffer.from('content'), 1);
  for (let at = 0; at < frame.length; at += 1) {
    // A changed id of a key is that of another, and a changed length ends elsewhere.
    if (at >= 4 && at < 24) continue;
    const changed = Buffer.from(frame);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await writeFile(path, changed);
    await expect(read(path), `byte ${at}`).rejects.toThrow('does not open');
  }
  for (const length of [10, 56, frame.length - 1]) {
    await writeFile(path, frame.subarray(0, length));
    await expect(read(path), `${length} bytes`).rejects.toThrow('ends amid a frame');
  }
});

test('an object of any size is as large as told, and what it was', async () => {
  for (const size of [0, 1, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20 + 7]) {
    const [from, to] = [join(folder.path, `plain-${size}`), join(folder.path, `sealed-${size}`)];
    const bytes = randomBytes(size);
    await writeFile(from, bytes);
    await sealFile(key, { from, to }, signal);
    expect((await readFile(to)).length).toBe(sealedSize(size));
    const pieces: Buffer[] = [];
    for await (const piece of openSealed(to, find)) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  }
  const gone = openSealed(join(folder.path, 'sealed-1'), () => null);
  await expect(gone.next()).rejects.toThrow('a key that is gone');
});
