import { createHmac } from 'node:crypto';
import type { FailureClass } from '../values.ts';

/** One POST to a receiver. */
export type Request = {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called when it goes out on a connection; again when that was found closed and another is taken. */
  readonly onSent?: () => void;
};

/** What came of it. Never thrown: an attempt that fails is data. */
export type AttemptResult = {
  readonly durationMillis: number;
  /** The HTTP status, if one came. */
  readonly status: number | null;
  /** null: delivered, that is a 2xx whose body ended in time. */
  readonly failureClass: FailureClass | null;
  /** One sentence for an operator; null when delivered. */
  readonly error: string | null;
  /** The answer's body after decompression, its first 4 KiB; null when there was none. */
  readonly response: Buffer | null;
  /** From the Retry-After of a 429 or 503, in either form, 24 h at most. */
  readonly retryAfterSeconds: number | null;
  /** It was ended from here before an answer had come: that says nothing about the receiver. */
  readonly isCut: boolean;
};

type SignatureRequest = {
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
