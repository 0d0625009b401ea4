import { createHmac } from 'node:crypto';

export type SignatureRequest = {
  /** webhook-id: the delivery's idempotency key, the same on every attempt. */
  readonly id: string;
  /** Of this attempt, seconds since 1970: receivers refuse old ones, so that none can be replayed. */
  readonly timestampSeconds: number;
  readonly body: string;
  /** Newest first. More than one while a rotated secret still counts. */
  readonly secrets: readonly Buffer[];
};

/** The headers of a delivery, signed with HMAC-SHA256 after Standard Webhooks 1.0.0. */
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
