import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { invalidInput } from '../kernel/errors.ts';

const prefix = 'whsec_';
const freshBytes = 32;
const minBytes = 24;
const maxBytes = 64;

/** A new secret of 256 random bits in the form of Standard Webhooks: `whsec_` and base64. */
export function newSecret(): string {
  return prefix + randomBytes(freshBytes).toString('base64');
}

/**
 * The bytes of a secret, which are the key that payloads are signed with. Throws 400 `request_invalid` at /secret
 * unless the text is `whsec_` and the base64 of 24–64 bytes, with or without padding, or when these are all zero.
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
  if (bytes.every((byte) => byte === 0)) {
    throw invalidInput('/secret', 'must not be all zeros: anybody could guess it');
  }
  return bytes;
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}

/** A key that secrets are encrypted with. The id, 8 hexadecimal digits, tells nothing of the key. */
export type SecretKey = { readonly id: string; readonly key: Buffer };

export type Keyring = {
  readonly sealing: SecretKey;
  readonly others: readonly SecretKey[];
  /**
   * Whether what is sealed names its key and owner. The release before cannot open that, so it begins with a rotation.
   */
  readonly isBound: boolean;
};

/** Encrypts the secrets of endpoints and targets at rest. `owner` is the id of the row that a secret belongs to. */
export type SecretBox = {
  seal(secret: string, owner: string): Buffer;
  /** Throws when the key is not known, or when the sealed bytes were changed or belong to another owner. */
  open(sealed: Buffer, owner: string): string;
};

/** The first byte of what is sealed tells its form. It is authenticated, so it cannot be changed unnoticed. */
const [unbound, bound] = [1, 2];
const keyIdBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals with AES-256-GCM under a key of 32 bytes. The form is a header, a nonce of 96 random bits, the ciphertext, the
 * tag. The header is 1, or else 2 and the id of the key; then the owner is authenticated, too. Random nonces are safe for
 * 2^32 seals under one key, far more than secrets are ever rotated.
 */
export function createSecretBox({ sealing, others, isBound }: Keyring): SecretBox {
  const known = [sealing, ...others];
  return {
    seal(secret, owner) {
      const header = isBound
        ? Buffer.concat([Buffer.of(bound), Buffer.from(sealing.id, 'hex')])
        : Buffer.of(unbound);
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealing.key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(isBound ? Buffer.concat([header, Buffer.from(owner)]) : header);
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([header, nonce, text, cipher.getAuthTag()]);
    },
    open(sealed, owner) {
      const id = keyIdOf(sealed);
      const keys = id === null ? known : known.filter((key) => key.id === id);
      const headerBytes = id === null ? 1 : 1 + keyIdBytes;
      if (sealed.length < headerBytes + nonceBytes + tagBytes) throw unknownForm();
      const header = sealed.subarray(0, headerBytes);
      const aad = id === null ? header : Buffer.concat([header, Buffer.from(owner)]);
      let fault: unknown = new Error(`the key ${id} is not known`);
      for (const { key } of keys) {
        try {
          return decrypt(key, aad, sealed.subarray(headerBytes));
        } catch (error) {
          fault = error;
        }
      }
      throw fault;
    },
  };
}

/** The id of the key that a secret is sealed under; null when it does not say. Throws when it has an unknown form. */
export function keyIdOf(sealed: Buffer): string | null {
  if (sealed[0] === unbound) return null;
  if (sealed[0] !== bound) throw unknownForm();
  return sealed.subarray(1, 1 + keyIdBytes).toString('hex');
}

function unknownForm(): Error {
  return new Error('a sealed secret has a form that this version does not know');
}

function decrypt(key: Buffer, aad: Buffer, sealed: Buffer): string {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const text = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
  return Buffer.concat([text, decipher.final()]).toString('utf8');
}
