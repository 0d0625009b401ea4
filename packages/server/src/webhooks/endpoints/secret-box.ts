import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts the secrets of endpoints at rest. */
export type SecretBox = {
  seal(secret: string): Buffer;
  /** Throws when it was sealed under another key, or was changed since. */
  open(sealed: Buffer): string;
};

const version = Buffer.of(1);
const nonceBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM under a key of 32 bytes: a version byte, a nonce of 96 random bits, the ciphertext, the
 * tag. Random nonces are good for 2^32 seals under one key, far beyond the rotations of a lifetime.
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
