import type { FailureClass } from '../values.ts';

const maxTextLength = 300;

/** Why an attempt failed. It is thrown where the failure is found, and becomes data in the attempt's result. */
export class AttemptFault extends Error {
  readonly failureClass: FailureClass;

  constructor(failureClass: FailureClass, text: string) {
    super(tidyText(text));
    this.name = 'AttemptFault';
    this.failureClass = failureClass;
  }
}

/** Makes one line of at most 300 characters, without control characters: others supply parts of these texts. */
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

/** The fault of a connection that failed. Addresses that are not shown to everybody are left out. */
export function connectFault(error: unknown, isShown: (address: string) => boolean): AttemptFault {
  const texts = causesOf(error).map((cause) => {
    const address = cause instanceof Error && 'address' in cause ? String(cause.address) : null;
    return address === null || isShown(address) ? messageOf(cause) : `connect ${codeOf(cause)}`;
  });
  return new AttemptFault('connect', [...new Set(texts)].join('; '));
}

export function tlsFault(error: unknown): AttemptFault {
  return new AttemptFault('tls', `TLS failed: ${tlsReason(error)}`);
}

/** Says what an error of undici or of the socket means once a connection was taken for the request. */
export function exchangeFault(error: unknown): AttemptFault {
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
  if (isClosed(error)) {
    return new AttemptFault('reset', 'The receiver closed the connection without an answer');
  }
  return new AttemptFault('protocol', `The answer is not valid HTTP/1.1: ${text}`);
}

/** Whether the receiver closed or reset the connection. Errors about wrong data are not meant. */
export function isClosed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return /closed/.test(messageOf(error));
  return (
    code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED' || code === 'ETIMEDOUT'
  );
}

/** The single errors of an error. Node tries several addresses of a name and then throws all their errors as one. */
function causesOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
}

/** The readable reason of a TLS error: the whole message of OpenSSL names the internals of its library. */
function tlsReason(error: unknown): string {
  if (codeOf(error) === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the port does not speak TLS';
  if (codeOf(error) === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED') {
    return 'the receiver asks for a client certificate';
  }
  if (error instanceof Error && 'reason' in error && typeof error.reason === 'string') {
    return error.reason;
  }
  // Node 24 adds advice about its own options, which the reader of this text cannot use.
  return messageOf(error).replace(/; if the root CA is installed.*$/s, '');
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : codeOf(error);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}
