import type { Keyring, SecretKey } from '../src/webhooks/secret.ts';

/** A key of 32 such bytes, whose id is made of them, too. */
export function keyOf(byte: number): SecretKey {
  return { id: Buffer.alloc(4, byte).toString('hex'), key: Buffer.alloc(32, byte) };
}

/** A keyring with one key that seals, and others that only open. */
export function ringOf(byte: number, { others = [] as number[], isBound = true } = {}): Keyring {
  return { sealing: keyOf(byte), others: others.map(keyOf), isBound };
}
