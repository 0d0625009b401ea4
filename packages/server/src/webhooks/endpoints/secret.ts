import { randomBytes } from 'node:crypto';
import { invalidInput } from '../../kernel/errors.ts';

const prefix = 'whsec_';
const freshBytes = 32;
/** What Standard Webhooks asks for. */
const minBytes = 24;
const maxBytes = 64;

/** A secret of 256 random bits in the form of Standard Webhooks: `whsec_` and base64. */
export function newSecret(): string {
  return prefix + randomBytes(freshBytes).toString('base64');
}

/**
 * The key that a secret stands for, which payloads are signed with. Throws 400 `request_invalid` at
 * /secret unless it is `whsec_` and the base64 of 24–64 bytes, padded or not.
 */
export function secretBytes(secret: string): Buffer {
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is not base64; receivers may not.
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
