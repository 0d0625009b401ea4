import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSecretBox, newSecret, secretBytes } from './secret.ts';

const box = createSecretBox(Buffer.alloc(32, 1));

test('opening refuses what was sealed under another key', () => {
  const sealed = createSecretBox(Buffer.alloc(32, 2)).seal('whsec_x');
  expect(() => box.open(sealed)).toThrow();
});

test('opening refuses any changed, missing or added byte', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const sealed = box.seal('whsec_c2VjcmV0');
      const changed = Buffer.from(sealed);
      const position = at % sealed.length;
      changed.writeUInt8(sealed.readUInt8(position) ^ mask, position);
      expect(() => box.open(changed)).toThrow();
      expect(() => box.open(sealed.subarray(0, position))).toThrow();
      expect(() => box.open(Buffer.concat([sealed, Buffer.of(mask)]))).toThrow();
    }),
  );
});

test('gives back what was sealed, sealed differently each time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      const sealed = box.seal(secret);
      expect(box.open(sealed)).toBe(secret);
      expect(box.seal(secret).equals(sealed)).toBe(false);
    }),
  );
});

test.each([
  ['another prefix', `whsek_${Buffer.alloc(32).toString('base64')}`],
  ['too few bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
  ['too many bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ['bits beyond its bytes', `whsec_${'A'.repeat(42)}B=`],
  ['a character beyond its bytes', `whsec_${'A'.repeat(41)}`],
])('refuses a secret with %s', (_name, secret) => {
  expect(() => secretBytes(secret)).toThrow('whsec_ and the base64 of 24–64 bytes');
});

test('a secret stands for its bytes, padded or not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
      const base64 = Buffer.from(bytes).toString('base64');
      expect(secretBytes(`whsec_${base64}`)).toEqual(Buffer.from(bytes));
      expect(secretBytes(`whsec_${base64.replace(/=+$/, '')}`)).toEqual(Buffer.from(bytes));
    }),
  );
});

test('a new secret has 256 bits and is another each time', () => {
  expect(secretBytes(newSecret())).toHaveLength(32);
  expect(newSecret()).not.toBe(newSecret());
});
