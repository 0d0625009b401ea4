import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readTarHeader, tarEnd, tarHeader, tarPaddingBytes } from './tar.ts';

const at = Date.parse('2026-03-05T10:00:01.5Z');

test('tar lists and reads what is written', () => {
  const content = Buffer.from('a é\n'.repeat(300));
  const file = { name: 'data/é.txt', sizeBytes: content.length, at };
  const padding = Buffer.alloc(tarPaddingBytes(content.length));
  const empty = tarHeader({ name: 'empty', sizeBytes: 0, at });
  const input = Buffer.concat([tarHeader(file), content, padding, empty, tarEnd]);
  expect(input.length % 512).toBe(0);
  const list = execFileSync('tar', ['tf', '-', '--quoting-style=literal'], { input });
  expect(list.toString()).toBe('data/é.txt\nempty\n');
  expect(execFileSync('tar', ['xOf', '-', 'data/é.txt'], { input })).toEqual(content);
});

test.each([0, 1, 512, 8 ** 11 - 1, 8 ** 11, 2 ** 45])(
  '%i bytes are read as they were written',
  (sizeBytes) => {
    const header = tarHeader({ name: 'data/train.parquet', sizeBytes, at });
    expect(readTarHeader(header)).toEqual({ name: 'data/train.parquet', sizeBytes });
    expect((sizeBytes + tarPaddingBytes(sizeBytes)) % 512).toBe(0);
  },
);

test('a tar ends with zeros, and what is neither is refused', () => {
  expect(readTarHeader(tarEnd.subarray(0, 512))).toBeNull();
  const header = tarHeader({ name: 'a', sizeBytes: 1, at });
  header[0] = 98;
  expect(() => readTarHeader(header)).toThrow('no tar');
  expect(() => readTarHeader(Buffer.alloc(512, 'x'))).toThrow('no tar');
});
