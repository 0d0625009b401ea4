import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../kernel/errors.ts';

/** Older or newer deliveries are refused, so that none can be replayed for long. */
const toleranceSeconds = 5 * 60;

export type SignedRequest = {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** To the byte, as it came. */
  readonly body: Buffer;
};

/**
 * Checks a delivery after Standard Webhooks 1.0.0: any of its v1 signatures may be the one. Answers what is
 * wrong in a word or two, null when nothing is.
 */
export function findSignatureFault(
  { headers, body }: SignedRequest,
  secret: Buffer,
  nowMs: number,
): string | null {
  const id = text(headers['webhook-id']);
  const timestamp = text(headers['webhook-timestamp']);
  const signatures = text(headers['webhook-signature']);
  if (id === '' || timestamp === '' || signatures === '') return 'unsigned';
  if (!/^\d{1,12}$/.test(timestamp)) return 'no timestamp';
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  // All are compared, so that the time taken tells nothing.
  const matches = signatures.split(' ').filter((signature) => isSame(signature, expected));
  if (matches.length === 0) return 'wrong signature';
  const ageSeconds = nowMs / 1000 - Number(timestamp);
  if (ageSeconds > toleranceSeconds) return 'too old';
  return ageSeconds < -toleranceSeconds ? 'from the future' : null;
}

/** The bytes of a `whsec_…` secret. Throws `usage_invalid`. */
export function parseSecret(secret: string): Buffer {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  if (bytes.length >= 24 && bytes.length <= 64) return bytes;
  throw new AppError('usage_invalid', {
    detail: '--secret: it is not whsec_ and the base64 of 24 to 64 bytes.',
  });
}

function isSame(signature: string, expected: Buffer): boolean {
  const [version, base64 = ''] = signature.split(',');
  const given = Buffer.from(base64, 'base64');
  return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
}

function text(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}
