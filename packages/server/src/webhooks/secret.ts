import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { invalidInput } from '../kernel/errors.ts';

const prefix = 'whsec_';
const freshBytes = 32;
/** The least that Standard Webhooks asks for. */
const minBytes = 24;
const maxBytes = 64;

/** A new secret of 256 random bits in the form of Standard Webhooks: `whsec_` and base64. */
export function newSecret(): string {
  return prefix + randomBytes(freshBytes).toString('base64');
}

/**
 * The bytes of a secret, which are the key that payloads are signed with. Throws 400 `request_invalid` at /secret
 * unless the text is `whsec_` and the base64 of 24–64 bytes, with or without padding.
 */
export function secretBytes(secret: string): Buffer {
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  // Node skips characters that are not base64, while receivers may not: then both would sign with different keys.
  const isWhole = unpadded(bytes.toString('base64')) === unpadded(text) && text.length % 4 !== 1;
  const isLong = bytes.length >= minBytes && bytes.length <= maxBytes;
  if (!secret.startsWith(prefix) || !isWhole || !isLong) {
    throw invalidInput('/secret', 'must be whsec_ and the base64 of 24–64 bytes');
  }
  return bytes;
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}

/** Encrypts the secrets of endpoints at rest. */
export type SecretBox = {
  seal(secret: string): Buffer;
  /** Throws when the secret was sealed under another key, or when the sealed bytes were changed. */
  open(sealed: Buffer): string;
};

/** The first byte of what is sealed. It is authenticated, so it cannot be changed unnoticed. */
const version = Buffer.of(1);
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals with AES-256-GCM under a key of 32 bytes. The form is a version byte, a nonce of 96 random bits, the
 * ciphertext, the tag. Random nonces are safe for 2^32 seals under one key, far more than secrets are ever rotated.
 */
export function createSecretBox(key: Buffer): SecretBox {
  return {
    seal(secret) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(version);
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([version, nonce, text, cipher.getAuthTag()]);
    },
    open(sealed) {
      if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== version[0]) {
        throw new Error('a sealed secret has a form that this version does not know');
      }
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(version);
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const text = decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    },
  };
}
