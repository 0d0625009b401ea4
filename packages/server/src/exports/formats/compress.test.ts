import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { compress, compressTail } from './compress.ts';
import { unpackFrame } from './testing/zstd.ts';

const mebibyte = 2 ** 20;
const text = Buffer.concat(
  Array.from({ length: 9 * 8 }, (_, n) => Buffer.alloc(mebibyte / 8, `${n} ${n * 7919} `)),
).subarray(0, -5);

async function run(pieces: readonly Buffer[], compression: 'none' | 'gzip' | 'zstd') {
  const all: Buffer[] = [];
  for await (const piece of compress(pieces, compression)) all.push(piece);
  return all;
}

function cut(size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.subarray(at, at + size));
  return pieces;
}

test.each(['gzip', 'zstd'] as const)(
  '%s makes a member of every 4 MiB, however it is fed',
  async (compression) => {
    const whole = await run([text], compression);
    expect(whole).toHaveLength(3);
    for (const size of [100_003, 4 * mebibyte, 5 * mebibyte]) {
      expect(Buffer.concat(await run(cut(size), compression)).equals(Buffer.concat(whole))).toBe(
        true,
      );
    }
    const blocks = whole.map((block) => unpack(block, compression));
    expect(blocks.map((block) => block.length)).toEqual([4 * mebibyte, 4 * mebibyte, mebibyte - 5]);
    expect(Buffer.concat(blocks).equals(text)).toBe(true);
  },
);

test('gzip members behind each other are one file', async () => {
  expect(gunzipSync(Buffer.concat(await run([text], 'gzip'))).equals(text)).toBe(true);
});

test.each(['none', 'gzip', 'zstd'] as const)(
  'nothing stays nothing with %s',
  async (compression) => {
    expect(await run([], compression)).toEqual([]);
    expect(Buffer.concat(await run([Buffer.alloc(0)], compression))).toHaveLength(0);
  },
);

test.each(['none', 'gzip', 'zstd'] as const)(
  'a file of nothing is one that %s unpacks to nothing, and nothing is added to any other',
  async (compression) => {
    const end = async (head: string, sizeBytes: number, tail = '') => {
      const pieces: Buffer[] = [];
      const format = { head: Buffer.from(head), tail: () => Buffer.from(tail) };
      const parts = [{ rows: 0, sizeBytes, layout: null }];
      for await (const piece of compressTail(format, parts, compression)) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    const file = await end('', 0);
    expect(unpack(file, compression)).toHaveLength(0);
    expect(file.length > 0).toBe(compression !== 'none');
    expect(await end('a,b', 0)).toHaveLength(0);
    expect(await end('', 1)).toHaveLength(0);
    expect(unpack(await end('', 0, 'tail'), compression).toString()).toBe('tail');
  },
);

function unpack(file: Buffer, compression: 'none' | 'gzip' | 'zstd'): Buffer {
  if (compression === 'none') return file;
  return compression === 'gzip' ? gunzipSync(file) : unpackFrame(file);
}

test('a source that fails fails the compression, and its thread ends', async () => {
  const failing = async function* () {
    yield text;
    throw new Error('the source failed');
  };
  const reading = async () => {
    for await (const piece of compress(failing(), 'zstd')) expect(piece.length).toBeGreaterThan(0);
  };
  await expect(reading()).rejects.toThrow('the source failed');
});
