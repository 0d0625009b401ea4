import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ringOf } from '../../test/keyring.ts';
import { createSecretBox, keyIdOf, newSecret, secretBytes } from './secret.ts';

const box = createSecretBox(ringOf(1));
const owner = 'ep_1';

test('opening refuses what was sealed under another key', () => {
  const sealed = createSecretBox(ringOf(2)).seal('whsec_x', owner);
  expect(() => box.open(sealed, owner)).toThrow();
});

test('opening refuses any changed, missing or added byte', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const sealed = box.seal('whsec_c2VjcmV0', owner);
      const changed = Buffer.from(sealed);
      const position = at % sealed.length;
      changed.writeUInt8(sealed.readUInt8(position) ^ mask, position);
      expect(() => box.open(changed, owner)).toThrow();
      expect(() => box.open(sealed.subarray(0, position), owner)).toThrow();
      expect(() => box.open(Buffer.concat([sealed, Buffer.of(mask)]), owner)).toThrow();
    }),
  );
});

test('gives back what was sealed, sealed differently each time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      const sealed = box.seal(secret, owner);
      expect(box.open(sealed, owner)).toBe(secret);
      expect(box.seal(secret, owner).equals(sealed)).toBe(false);
    }),
  );
});

test('what is sealed for one endpoint opens for no other', () => {
  const sealed = box.seal('whsec_x', 'ep_1');
  expect(() => box.open(sealed, 'ep_2')).toThrow();
  expect(() => box.open(sealed, 'ep_')).toThrow();
});

test('names its key, by which one of several opens it', () => {
  const later = createSecretBox(ringOf(2, { others: [1] }));
  const sealed = box.seal('whsec_x', owner);
  expect(keyIdOf(sealed)).toBe('01010101');
  expect(later.open(sealed, owner)).toBe('whsec_x');
  expect(keyIdOf(later.seal('whsec_x', owner))).toBe('02020202');
});

test('the form of the release before is opened by whichever key sealed it, and written until keys are rotated', () => {
  const before = createSecretBox(ringOf(1, { isBound: false }));
  const sealed = before.seal('whsec_x', owner);
  expect([sealed[0], keyIdOf(sealed)]).toEqual([1, null]);
  expect(createSecretBox(ringOf(2, { others: [3, 1] })).open(sealed, owner)).toBe('whsec_x');
  expect(() => createSecretBox(ringOf(2, { others: [3] })).open(sealed, owner)).toThrow();
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
