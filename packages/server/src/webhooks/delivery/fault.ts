import type { FailureClass } from '../values.ts';

const maxTextLength = 300;

/** Why an attempt failed, found where it failed. */
export class AttemptFault extends Error {
  readonly failureClass: FailureClass;

  constructor(failureClass: FailureClass, text: string) {
    super(tidyText(text));
    this.name = 'AttemptFault';
    this.failureClass = failureClass;
  }
}

/** One line of 300 characters at most: receivers and resolvers have a hand in these texts. */
export function tidyText(text: string): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  if (line.length <= maxTextLength) return line;
  return `${line.slice(0, maxTextLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

export function dnsFault(hostname: string, error: unknown): AttemptFault {
  return new AttemptFault('dns', `${hostname} could not be looked up (${codeOf(error)})`);
}

export function connectFault(error: unknown): AttemptFault {
  return new AttemptFault('connect', causesOf(error).map(messageOf).join('; '));
}

export function tlsFault(error: unknown): AttemptFault {
  return new AttemptFault('tls', `TLS failed: ${tlsReason(error)}`);
}

/**
 * What an error of undici or of the socket means once the request was on its way. After a status came,
 * the text goes on from that: "200 OK, but …".
 */
export function exchangeFault(error: unknown, hasStatus: boolean): AttemptFault {
  if (error instanceof AttemptFault) return error;
  const code = codeOf(error);
  const text = messageOf(error);
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH') {
    return new AttemptFault('unsendable', `The request cannot be sent: ${text}`);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new AttemptFault('protocol', 'The headers of the answer are too large');
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return tlsFault(error);
  const isCut =
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ||
    code === 'HPE_INVALID_EOF_STATE' ||
    isClosed(error);
  if (isCut && hasStatus) return new AttemptFault('body', 'the answer broke off in its body');
  if (isClosed(error)) {
    return new AttemptFault('reset', 'The receiver closed the connection without an answer');
  }
  const subject = hasStatus ? 'the answer' : 'The answer';
  return new AttemptFault('protocol', `${subject} is not valid HTTP/1.1: ${text}`);
}

/** Whether the receiver closed or reset the connection, as opposed to sending something wrong. */
export function isClosed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return /closed/.test(messageOf(error));
  return (
    code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED' || code === 'ETIMEDOUT'
  );
}

/** Node tries several addresses of a name and then throws all their errors as one. */
function causesOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
}

/** OpenSSL's own message is a line of library internals; its reason is the readable end of it. */
function tlsReason(error: unknown): string {
  if (codeOf(error) === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the port does not speak TLS';
  if (error instanceof Error && 'reason' in error && typeof error.reason === 'string') {
    return error.reason;
  }
  // Node 24 goes on with advice about options of its own, which are nothing to who reads this.
  return messageOf(error).replace(/; if the root CA is installed.*$/s, '');
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : codeOf(error);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}
