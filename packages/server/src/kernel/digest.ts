import { hash } from 'node:crypto';

/** What a record's digest covers: its content, not when or where we stored it. */
export type DigestContent = {
  tenant: string;
  store: string;
  occurredAtMicros: number;
  eventId: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  confidence: string | null;
  enrichment: string;
};

const modulus = 1n << 64n;

/**
 * The digest of one record, 64 bits: the first 16 hex digits of the md5 over its fields joined by
 * U+001F, an absent one written U+0001. PostgreSQL computes the same (`record_digest` in the
 * migrations). The sum of them mod 2^64 is the digest of a set: it does not depend on the order, and
 * unlike XOR two equal records do not cancel.
 */
export function recordDigest(record: DigestContent): bigint {
  return BigInt.asUintN(64, signedDigest(record));
}

/**
 * The same 64 bits as a signed number, as PostgreSQL's bigint holds them. It runs once a record ingested:
 * with the caller's scratch of 8 bytes it takes 0.9 µs, with a buffer of its own 1.8.
 */
export function signedDigest(record: DigestContent, scratch: Buffer = Buffer.alloc(8)): bigint {
  const { tenant, store, eventId, kind, source, model, confidence, enrichment } = record;
  const text = `${tenant}\u001f${store}\u001f${record.occurredAtMicros}\u001f${eventId}\u001f${kind ?? absent}\u001f${source ?? absent}\u001f${model ?? absent}\u001f${confidence ?? absent}\u001f${enrichment}`;
  scratch.write(hash('md5', text, 'binary'), 0, 8, 'latin1');
  return scratch.readBigInt64BE(0);
}

const absent = '\u0001';

/** Adds digests of disjoint sets. */
export function sumDigests(digests: Iterable<bigint>): bigint {
  let sum = 0n;
  for (const digest of digests) sum = (sum + digest) % modulus;
  return sum;
}

/** On the wire a digest is always 16 lower-case hex digits. */
export function formatDigest(digest: bigint): string {
  return digest.toString(16).padStart(16, '0');
}
