import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const tokenPattern = /^svc_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/;

/** `length` random characters of base62 (5.95 bits each). */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 = 4 × 62: bytes above would favour the first letters.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** A new opaque id such as `tok_4fT…` (16 random characters, 95 bits). */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(16)}`;
}

/**
 * A new personal access token: `svc_`, 40 random characters (238 bits), 6 of checksum. The checksum
 * tells a typo from an unknown token without a look-up and lets secret scanners find leaks.
 */
export function newAccessToken(): string {
  const random = randomText(40);
  return `svc_${random}${checksum(random)}`;
}

/** Whether the text has the form and the checksum of an access token. */
export function isAccessToken(text: string): boolean {
  const match = tokenPattern.exec(text);
  return match !== null && checksum(match[1] ?? '') === match[2];
}

/** What is stored of a token, a cookie or a link. A plain SHA-256 is enough: they have 190 random bits or more. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function checksum(random: string): string {
  let rest = crc32(`svc_${random}`);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = alphabet[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
