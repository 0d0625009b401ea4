import { expect, test } from 'vitest';
import { formatBytes, formatShare, shellQuote } from './values.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [19_700_000, '19.7 MB'],
  [99_940_000, '99.9 MB'],
  [99_960_000, '100 MB'],
  [246_000_000, '246 MB'],
  [999_400, '999 kB'],
  [999_600, '1.0 MB'],
  [5_000_000_000_000_000_000, '5,000 PB'],
])('%d bytes read %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  [null, '–'],
  [0, '0 %'],
  [0.000001, '<1 %'],
  [0.01, '1 %'],
  [0.29, '29 %'],
  [0.389, '38 %'],
  [1 - 1e-15, '99 %'],
  [1, '100 %'],
])('the share %s reads %s', (share, text) => expect(formatShare(share)).toBe(text));

test('a word is quoted where a shell needs it', () => {
  expect(shellQuote('tok_1')).toBe('tok_1');
  expect(shellQuote("it's $(x)")).toBe("'it'\\''s $(x)'");
});
