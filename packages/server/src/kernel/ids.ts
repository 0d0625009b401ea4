import { createHash, randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const tokenPattern = /^svc_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/;

const pool = Buffer.alloc(8192);
let used = pool.length;

/** Returns a random byte. They are drawn by the thousand, because each draw takes as long as a hundred bytes. */
function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] as number;
  // What was given out is not kept: it may be part of a secret.
  pool[used] = 0;
  used += 1;
  return byte;
}

/** `length` random characters of base62, each worth 5.95 bits. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    const byte = randomByte();
    // 248 is 4 × 62. Bytes from there on are skipped, because they would make the first letters more likely.
    if (byte < 248) text += alphabet[byte % 62];
  }
  return text;
}

/** Makes a new opaque id such as `tok_4fT…`: the prefix and 16 random characters, which are 95 bits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(16)}`;
}

/**
 * Makes a new personal access token: `svc_`, 40 random characters (238 bits) and 6 characters of checksum. The checksum
 * tells a typing error from an unknown token without a look-up, and it lets secret scanners find leaked tokens.
 */
export function newAccessToken(): string {
  const random = randomText(40);
  return `svc_${random}${checksum(random)}`;
}

/**
 * Returns whether the text has the form of an access token and its checksum fits. It says nothing about whether the
 * token exists.
 */
export function isAccessToken(text: string): boolean {
  const match = tokenPattern.exec(text);
  return match !== null && checksum(match[1] ?? '') === match[2];
}

/**
 * Returns the hash that is stored of a token, a cookie or a link. A plain SHA-256 is enough, without salt or
 * stretching, because what is hashed has at least 190 random bits.
 */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** CRC-32 in base62, six characters. It guards against typing errors, not against forgery. */
function checksum(random: string): string {
  let rest = crc32(`svc_${random}`);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = alphabet[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
