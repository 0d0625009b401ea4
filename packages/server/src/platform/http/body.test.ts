import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { assertText } from './body.ts';

const good = '{"tenant":"T"}';
const utf16 = (text: string, isBig = false) => {
  const bytes = Buffer.from(text, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};

test.each([
  ['gzip', gzipSync(good), 'Content-Encoding: gzip'],
  ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 4]), 'Content-Encoding: zstd'],
  ['ZIP', Buffer.from('PK\u0003\u0004....'), 'ZIP archive'],
  ['Parquet', Buffer.from('PAR1....'), 'COPY'],
  ['bzip2', Buffer.from('BZh9'), 'bzip2 -dc'],
  ['xz', Buffer.from('fd377a585a00', 'hex'), 'xz -dc'],
  ['UTF-16', utf16(`\ufeff${good}`), 'iconv -f UTF-16 '],
  ['UTF-16 of the other order', utf16(`\ufeff${good}`, true), 'iconv -f UTF-16 '],
  ['UTF-16 without a mark', utf16(good), 'iconv -f UTF-16LE'],
  ['UTF-16 of the other order without a mark', utf16(`[${good}]`, true), 'iconv -f UTF-16BE'],
])('a body of %s is refused with what to do', (_what, bytes, words) => {
  expect(() => assertText(bytes)).toThrow(
    expect.objectContaining({
      code: 'body_encoding_invalid',
      detail: expect.stringContaining(words),
    }),
  );
});

test.each(['', '{', '{"a"', ' [', '\n', '\ufeff{', 'PK', 'é', '{\u0000'])(
  'a body that begins with %j is read',
  (begin) => {
    expect(() => assertText(Buffer.from(begin))).not.toThrow();
  },
);
