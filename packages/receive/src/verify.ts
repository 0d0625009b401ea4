import { WebhookError } from './error.ts';

/** A webhook whose signature was right. */
export type Webhook<Data = unknown> = {
  /** The `webhook-id`: the same on every attempt, and of no other delivery. */
  readonly id: string;
  /**
   * Where operators send again what was delivered before: the `webhook-id` that it had first. It is not signed: pass over
   * what you know by it, and trust nothing to it. Undefined: it is no replay, or comes for the first time.
   */
  readonly replayOf?: string;
  readonly type: string;
  /** When what it tells of occurred, as RFC 3339; the same on every attempt. */
  readonly timestamp: string;
  readonly data: Data;
  /** The very bytes that were signed. Numbers beyond 2^53 are exact here, and not in `data`. */
  readonly body: Uint8Array;
};

/** Headers as fetch has them, or as Node, Express, Fastify and cloud functions have them, in upper or lower case. */
export type HeaderSource =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * One `whsec_…` secret or several, of which any may have signed: that is how one is changed for another. A `whpk_…` is the
 * public key of an endpoint that signs with a key pair. What is undefined is passed over, so that a variable for the
 * earlier secret may be unset.
 */
export type Secrets = string | readonly (string | undefined)[];

export type VerifyOptions = {
  /** How far the sender's clock may be from ours, in seconds; 300 by default. */
  readonly toleranceSeconds?: number;
  /** Milliseconds since 1970; Date.now by default. */
  readonly now?: () => number;
};

/** So many signatures of key pairs are looked at: each costs far more than one of a secret. */
const mostPublic = 10;

const encoder = new TextEncoder();

/**
 * Verifies a webhook as Standard Webhooks 1.0.0 says, and parses it. `body` is what came, byte by byte: JSON that was
 * parsed and printed again has another signature. Throws a WebhookError: 400 for what is no webhook, 401 for what was not
 * signed by one of these secrets within the tolerance, `option_invalid` for secrets that are none.
 */
export async function verify<Data = unknown>(
  body: Uint8Array | string,
  headers: HeaderSource,
  secrets: Secrets,
  { toleranceSeconds = 300, now = Date.now }: VerifyOptions = {},
): Promise<Webhook<Data>> {
  const keys = secretKeys(secrets);
  const id = requiredHeader(headers, 'webhook-id');
  const timestamp = requiredHeader(headers, 'webhook-timestamp');
  const given = requiredHeader(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookError('timestamp_invalid', 'webhook-timestamp is not in whole seconds');
  }
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  const signed = concat([encoder.encode(`${id}.${timestamp}.`), bytes]);
  // Each is compared with each, whatever was found before, so that the time that it takes tells nothing.
  const matches = await Promise.all(keys.map((key) => countMatches(key, signed, given)));
  if (matches.every((count) => count === 0)) {
    throw new WebhookError('signature_wrong', 'No signature is by one of the secrets known here');
  }
  const ageSeconds = now() / 1000 - Number(timestamp);
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookError('timestamp_too_old', 'It was sent too long ago, by the clock here');
  }
  if (ageSeconds < -toleranceSeconds) {
    throw new WebhookError('timestamp_too_new', 'It comes from the future, by the clock here');
  }
  const replayOf = headerOf(headers, 'webhook-replay');
  return { id, ...(replayOf !== '' && { replayOf }), ...parse<Data>(bytes), body: bytes };
}

/** The keys of secrets. Throws a WebhookError `option_invalid` where one is none, or where there are none at all. */
export function secretKeys(secrets: Secrets): Key[] {
  const given = [secrets].flat().filter((secret) => secret !== undefined);
  if (given.length === 0) throw new WebhookError('option_invalid', 'secrets: there is none');
  return given.map(secretKey);
}

type Key = { readonly isPublic: boolean; readonly bytes: Uint8Array<ArrayBuffer> };

function secretKey(secret: string): Key {
  const [, kind, base64] = /^wh(sec|pk)_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const bytes = decodeBase64(base64 ?? '');
  if (kind === 'pk' && bytes.length === 32) return { isPublic: true, bytes };
  if (kind === 'sec' && bytes.length >= 24 && bytes.length <= 64) return { isPublic: false, bytes };
  const text =
    'secrets: one of them is neither whsec_ and the base64 of 24 to 64 bytes, nor whpk_ and that of 32';
  throw new WebhookError('option_invalid', text);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  // A length that no bytes have makes atob throw.
  return text.length % 4 === 1
    ? new Uint8Array()
    : Uint8Array.from(atob(text.replace(/=+$/, '')), (one) => one.charCodeAt(0));
}

/** How many of the signatures that came are by this key. */
async function countMatches(
  { isPublic, bytes }: Key,
  signed: Uint8Array<ArrayBuffer>,
  given: readonly string[],
): Promise<number> {
  if (!isPublic) {
    const expected = await sign(bytes, signed);
    return given.filter((other) => isSame(expected, other)).length;
  }
  const key = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
  const asymmetric = given
    .filter((one) => /^v1a,[A-Za-z0-9+/]+={0,2}$/.test(one))
    .slice(0, mostPublic);
  const checks = asymmetric.map((one) =>
    crypto.subtle.verify('Ed25519', key, decodeBase64(one.slice(4)), signed),
  );
  return (await Promise.all(checks)).filter((isRight) => isRight).length;
}

async function sign(
  bytes: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}

/** Compares all characters, also after one that differs. */
function isSame(expected: string, given: string): boolean {
  let difference = expected.length ^ given.length;
  for (let i = 0; i < expected.length; i += 1) {
    difference |= expected.charCodeAt(i) ^ given.charCodeAt(i);
  }
  return difference === 0;
}

function parse<Data>(bytes: Uint8Array): { type: string; timestamp: string; data: Data } {
  let payload: Partial<Record<string, unknown>> | null;
  try {
    payload = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new WebhookError('payload_invalid', 'The body is no JSON in UTF-8', { cause });
  }
  const { type, timestamp, data } = payload ?? {};
  if (typeof type !== 'string' || typeof timestamp !== 'string' || data === undefined) {
    throw new WebhookError('payload_invalid', 'The body is not {"type", "timestamp", "data"}');
  }
  return { type, timestamp, data: data as Data };
}

/** The value of a header, '' when it is not there. `name` is in lower case. */
export function headerOf(headers: HeaderSource, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

function requiredHeader(headers: HeaderSource, name: string): string {
  const value = headerOf(headers, name);
  if (value === '') throw new WebhookError('header_missing', `There is no header ${name}`);
  return value;
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
