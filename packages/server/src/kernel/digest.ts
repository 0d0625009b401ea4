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

/** The same 64 bits as a signed number, as PostgreSQL's bigint holds them. Runs once a record ingested. */
export function signedDigest(record: DigestContent): bigint {
  const fields = [
    record.tenant,
    record.store,
    String(record.occurredAtMicros),
    record.eventId,
    record.kind ?? '\u0001',
    record.source ?? '\u0001',
    record.model ?? '\u0001',
    record.confidence ?? '\u0001',
    record.enrichment,
  ];
  return hash('md5', fields.join('\u001f'), 'buffer').readBigInt64BE(0);
}

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
