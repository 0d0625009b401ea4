import { createHash } from 'node:crypto';

/** What makes two reports under one idempotency key the same. */
export type Report = {
  tenant: string;
  store?: string;
  type: string;
  occurred_at?: string;
  data: unknown;
};

/**
 * SHA-256 of the report's content. The order of keys does not matter, as it does not in JSON: a caller
 * that builds its body anew for a second try may get another one. Times count as they are spelled.
 */
export function requestDigest({ tenant, store, type, occurred_at, data }: Report): Buffer {
  const head = JSON.stringify([tenant, store ?? null, type, occurred_at ?? null]);
  return createHash('sha256').update(head).update(canonicalJson(data)).digest();
}

/** JSON without white space, keys in the order of their UTF-16 units (as in RFC 8785). */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}
