import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorCode, errorCatalogue } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';

type Answer = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** What clients of a specification of others expect of the paths below `path`, which they also ask for without `/api/v1`. */
export type Dialect = {
  /** Such as `/iceberg/`. */
  readonly path: string;
  /** Members that an error has beside those of a problem. */
  members(error: AppError, request: FastifyRequest): object;
  /** What to answer where there is no route; undefined: as everywhere. */
  missing(request: FastifyRequest): AppError | undefined;
};

/** Sends an error as RFC 9457 problem+json, returns its code. What is no AppError becomes `internal_error`, logged. */
export function sendProblem(
  raw: unknown,
  { request, reply, dialect }: Answer & { readonly dialect?: Dialect | undefined },
): ErrorCode {
  const error = toAppError(raw, request);
  const { code } = error;
  if (error.status === 500) request.log.error({ err: raw }, error.message);
  // This fault will pass, and a hundred requests may meet it at once, so the log gets one line without stacks.
  else if (error.status > 500)
    request.log.warn({ code, cause: String(error.cause) }, error.message);
  else request.log.debug({ code }, error.message);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  if (error.status === 401) reply.header('www-authenticate', 'Bearer realm="svcctl"');
  reply
    .status(error.status)
    .type('application/problem+json')
    .send(
      JSON.stringify({
        type: `/docs#${error.code}`,
        title: errorCatalogue[error.code].title,
        status: error.status,
        detail: error.detail,
        code: error.code,
        request_id: request.id,
        errors: error.errors,
        ...error.members,
        ...dialect?.members(error, request),
      }),
    );
  return code;
}

/** Answers bytes that are not HTTP or not a whole request, for which there is no request object to answer. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  refuseConnection(socket, { code: 'http_invalid', ...unreadable(error.code ?? '') });
}

function unreadable(code: string): { status: number; detail: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, detail: 'The path and the headers have more than 16 KiB together.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, detail: 'The headers did not arrive in time.' };
    default:
      return { status: 400, detail: 'The request is not valid HTTP/1.1, or did not arrive whole.' };
  }
}

/** Answers whatever was or will be asked on a connection, and ends the connection. */
export function refuseConnection(
  socket: Socket,
  { status, code, detail }: { status?: number; code: ErrorCode; detail: string },
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const row = errorCatalogue[code];
  const answered = status ?? row.status;
  const id = `req_${randomText(16)}`;
  const body = JSON.stringify({
    type: `/docs#${code}`,
    title: row.title,
    status: answered,
    detail,
    code,
    request_id: id,
  });
  const head = [
    `HTTP/1.1 ${answered} ${STATUS_CODES[answered]}`,
    'connection: close',
    `x-request-id: ${id}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(row.retryable ? ['retry-after: 1'] : []),
  ];
  // The socket is destroyed as well: a client that never closes its side would keep the connection.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Refuses a body of more than `maxBytes`. */
export function bodyTooLarge(maxBytes: number, cause?: unknown): AppError {
  return new AppError('body_too_large', {
    detail: `The body of this call has at most ${maxBytes} bytes. Send it in several calls.`,
    cause,
  });
}

function toAppError(raw: unknown, request: FastifyRequest): AppError {
  if (raw instanceof AppError) return raw;
  // Whoever asked has hung up, and what was under way for them was given up: see untilGone.
  const isGivenUp = raw instanceof Error && raw.name === 'AbortError';
  if (isGivenUp && request.raw.socket.destroyed) {
    return new AppError('request_aborted', { cause: raw });
  }
  const code = raw instanceof Error && 'code' in raw ? String(raw.code) : '';
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(request.routeOptions.bodyLimit, raw);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('media_type_unsupported', {
        detail: 'Send the body as application/json.',
        cause: raw,
      });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AppError('body_encoding_invalid', {
        detail: 'The body is not as long as Content-Length says. Send it again, whole.',
        cause: raw,
      });
    case 'FST_ERR_BAD_URL':
      return new AppError('route_not_found', {
        detail: 'The path is not a valid URL.',
        cause: raw,
      });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('route_not_found', {
        detail: 'A part of the path is longer than any id or name.',
        cause: raw,
      });
    case 'ECONNRESET':
      // The client hung up while its body was being read. A connection of ours that is lost comes here as an AppError.
      if (!request.raw.complete) return new AppError('request_aborted', { cause: raw });
  }
  return new AppError('internal_error', { cause: raw });
}
