import { createHmac } from 'node:crypto';

type SignatureRequest = {
  /** webhook-id: the delivery's idempotency key, the same on every attempt. */
  readonly id: string;
  /**
   * When this attempt is made, in seconds since 1970. Receivers refuse old ones, so that a recorded request cannot be
   * sent again later.
   */
  readonly timestampSeconds: number;
  readonly body: string;
  /** The keys that sign, the newest first. There are several while rotated secrets still sign. */
  readonly secrets: readonly Buffer[];
};

/**
 * The headers of a delivery, signed with HMAC-SHA256 after Standard Webhooks 1.0.0. Each secret makes one signature; a
 * receiver accepts the delivery if any of them is right.
 */
export function signatureHeaders(request: SignatureRequest): Readonly<Record<string, string>> {
  const { id, timestampSeconds, body, secrets } = request;
  const signed = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`,
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'svcctl',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
