import {
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';

/** A signature in a form of their own, for receivers that check another one than that of Standard Webhooks. */
type OwnSignature = {
  readonly header: string;
  /** The value of the header, as `sha256={hex}`. */
  readonly value: string;
  /** What is signed, as `{timestamp}.{body}`. */
  readonly signs: string;
  /** The key of the HMAC; null: the present secret. */
  readonly key: Buffer | null;
};

/** A private key that signs, up to a time (milliseconds since 1970) if it was replaced; null: it is the present one. */
type SigningKey = { readonly key: KeyObject; readonly untilMillis: number | null };

/** What signs beside the secrets of an endpoint. */
export type Signing = { readonly keys: readonly SigningKey[]; readonly own: OwnSignature | null };

type SignatureRequest = {
  /** webhook-id: the delivery's idempotency key, the same on every attempt. */
  readonly id: string;
  /**
   * When this attempt is made, in seconds since 1970. Receivers refuse old ones, so no recorded request works later.
   */
  readonly timestampSeconds: number;
  readonly body: string;
  /** The keys that sign, the newest first. There are several while rotated secrets still sign. */
  readonly secrets: readonly Buffer[];
  readonly signing?: Signing;
};

/**
 * The headers of a delivery, signed with HMAC-SHA256 after Standard Webhooks 1.0.0, and with Ed25519 where there is a key
 * pair. Each secret makes one signature; a receiver accepts the delivery if any of them is right.
 */
export function signatureHeaders(request: SignatureRequest): Record<string, string> {
  const { id, timestampSeconds, body, secrets } = request;
  const { keys = [], own } = request.signing ?? {};
  const signed = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map((secret) => `v1,${hmac(secret, signed).toString('base64')}`);
  for (const { key, untilMillis } of keys) {
    if (untilMillis !== null && untilMillis <= timestampSeconds * 1000) continue;
    signatures.push(`v1a,${sign(null, Buffer.from(signed), key).toString('base64')}`);
  }
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'svcctl',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
  if (own != null) headers[own.header] = ownValue(own, request);
  return headers;
}

function ownValue({ value, signs, key }: OwnSignature, request: SignatureRequest): string {
  const { id, timestampSeconds, body, secrets } = request;
  const told = { id, timestamp: String(timestampSeconds) };
  const bytes = hmac(key ?? secrets[0] ?? Buffer.of(), fill(signs, { ...told, body }));
  return fill(value, { ...told, hex: bytes.toString('hex'), base64: bytes.toString('base64') });
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** A new key pair for Ed25519, in the form of Standard Webhooks: `whsk_…`, which holds both keys, and `whpk_…`. */
export function newKeyPair(): { privateKey: string; publicKey: string } {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  return {
    privateKey: `whsk_${Buffer.concat([seed, point]).toString('base64')}`,
    publicKey: `whpk_${point.toString('base64')}`,
  };
}

/** The key of a `whsk_…`, to sign with. */
export function privateKeyOf(text: string): KeyObject {
  const bytes = Buffer.from(text.replace(/^whsk_/, ''), 'base64');
  const part = (from: number) => bytes.subarray(from, from + 32).toString('base64url');
  const key = { kty: 'OKP', crv: 'Ed25519', d: part(0), x: part(32) };
  return createPrivateKey({ key, format: 'jwk' });
}
