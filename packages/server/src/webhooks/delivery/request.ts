import { createHmac } from 'node:crypto';
import type { FailureClass } from '../values.ts';

/** One POST to a receiver, already signed. */
export type Request = {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Is called when the request is sent, and again when its connection was found closed and another is used. */
  readonly onSent?: () => void;
};

/** The result of an attempt. It is never thrown: an attempt that fails is data. */
export type AttemptResult = {
  readonly durationMillis: number;
  /** The HTTP status; null when none came. */
  readonly status: number | null;
  /** Why the attempt failed; null when it delivered, that is, got a 2xx. */
  readonly failureClass: FailureClass | null;
  /** One sentence for an operator; null when delivered. */
  readonly error: string | null;
  /** The first 4 KiB of the answer's body, after decompression; null when there was none. */
  readonly response: Buffer | null;
  /** The wait that a 429 or 503 asked for by Retry-After, 24 h at most; null when it asked for none. */
  readonly retryAfterSeconds: number | null;
  /** Whether this process stood still meanwhile, so that a failure says little about the receiver. */
  readonly isOverslept: boolean;
  /**
   * Whether the service itself ended the attempt before an answer had come. That says nothing about the receiver, so it
   * must not count as a failure.
   */
  readonly isCut: boolean;
};

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
