import { createHash } from 'node:crypto';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { hashFile, ThreadHash } from './thread-hash.ts';

const sha256 = (...bytes: Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(bytes)).digest();
const [few, many] = [Buffer.from('a few bytes'), Buffer.alloc(5_000_000, 'more than one piece ')];

const dir = useFolder('once');
beforeAll(async () => {
  await writeFile(join(dir.path, 'few'), few);
  await writeFile(join(dir.path, 'many'), many);
});

test.each([
  ['few', few, {}],
  ['few', few.subarray(2, 5), { start: 2, end: 5 }],
  ['many', many, {}],
  ['many', many.subarray(1_000_000, 4_000_001), { start: 1_000_000, end: 4_000_001 }],
  ['many', many.subarray(4_999_990), { start: 4_999_990, end: 9_000_000 }],
] as const)('the hash of a file (%s)', async (name, bytes, stretch) => {
  let seen = 0;
  const onChunk = async (count: number) => {
    seen += count;
  };
  expect(await hashFile(join(dir.path, name), { ...stretch, onChunk })).toEqual(sha256(bytes));
  expect(seen).toBe(bytes.length);
});

test('bytes and files are appended to a file, in their order, and added to two hashes', async () => {
  const [into, from] = [
    await open(join(dir.path, 'made'), 'wx'),
    await open(join(dir.path, 'many')),
  ];
  const before = new ThreadHash();
  await before.update(few);
  const [own, also] = [new ThreadHash(), new ThreadHash(before)];
  await own.update(many, { into, also });
  await own.addFile(from, { start: 10, end: 3_000_000, into, also });
  await Promise.all([into.close(), from.close()]);
  const made = Buffer.concat([many, many.subarray(10, 3_000_000)]);
  expect((await readFile(join(dir.path, 'made'))).equals(made)).toBe(true);
  expect(await own.digest()).toEqual(sha256(made));
  expect(await also.digest()).toEqual(sha256(few, made));
  expect(await before.digest(), 'a copy leaves the hash as it is').toEqual(sha256(few));
});

test('what the system refuses is told as the system tells it', async () => {
  const file = await open(join(dir.path, 'few'));
  const hash = new ThreadHash();
  await expect(hash.update(few, { into: file })).rejects.toMatchObject({
    code: 'EBADF',
    syscall: 'write',
  });
  await Promise.all([hash.digest(), file.close()]);
  await expect(hashFile(join(dir.path, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('the thread ends when nobody needs it, not while somebody waits, and starts again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    await hashFile(join(dir.path, 'many'));
    await hashFile(join(dir.path, 'many'));
    const hash = new ThreadHash();
    const hashing = hash.update(many);
    vi.advanceTimersByTime(60_000);
    await hashing;
    expect(await hash.digest()).toEqual(sha256(many));
    vi.advanceTimersByTime(60_000);
    expect(await hashFile(join(dir.path, 'many'))).toEqual(sha256(many));
  } finally {
    vi.useRealTimers();
  }
});
