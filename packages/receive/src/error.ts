/** What can be wrong, with the status that it is answered by. The codes are stable; messages may change. */
const statuses = {
  header_missing: 400,
  timestamp_invalid: 400,
  payload_invalid: 400,
  body_incomplete: 400,
  signature_wrong: 401,
  timestamp_too_old: 401,
  timestamp_too_new: 401,
  method_not_allowed: 405,
  body_too_large: 413,
  busy: 429,
  body_consumed: 500,
  handler_failed: 500,
  option_invalid: 500,
} as const;

export type ErrorCode = keyof typeof statuses;

/**
 * Why a webhook was not taken. A handler throws one with the code `busy` to be sent less for a while: it is answered as
 * 429 with Retry-After, in whole seconds, which uses up no attempt of the sender.
 */
export class WebhookError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { retryAfterSeconds, cause }: { retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.code = code;
    this.status = statuses[code];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
