import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import { basePath } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { baseHeaders, reasonOf, unreachable } from '../client.ts';
import type { Connection } from '../connection.ts';
import type { Io } from '../io.ts';
import { interrupted } from '../retry.ts';

/** A file that is being downloaded: what the service says about it, then its bytes. */
export type FileAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they come. Throws `Broken` when the connection is cut, or no bytes come for too long. */
  readonly pieces: AsyncIterable<Buffer>;
  /** A trailer of the answer; known only after the last byte. */
  trailer(name: string): string | undefined;
  cancel(): void;
};

export type FileCall = {
  method: string;
  /** The path, without the base path. */
  path: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
};

/** The connection broke, or no bytes came for too long. */
export class Broken extends Error {}

const longestProblemBytes = 1_000_000;

/**
 * Requests a file. It uses node:http, because fetch hides trailers. Throws an `ApiError` for what the service refuses,
 * and `service_unreachable` when there is no answer.
 */
export async function openAnswer(
  io: Io,
  connection: Connection,
  call: FileCall,
): Promise<FileAnswer> {
  let response: IncomingMessage;
  try {
    response = await send(io, connection, call);
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    throw unreachable(connection, reasonOf(error), error);
  }
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw await readProblem(response);
  return {
    status,
    headers: response.headers,
    pieces: readPieces(response, io.timeouts.idleMillis),
    trailer: (name) => response.trailers[name],
    cancel: () => response.destroy(),
  };
}

async function send(io: Io, connection: Connection, call: FileCall): Promise<IncomingMessage> {
  const url = new URL(`${connection.url}${basePath}${call.path}`);
  const isTls = url.protocol === 'https:';
  const { request } = isTls ? await import('node:https') : await import('node:http');
  const payload = call.body === undefined ? null : JSON.stringify(call.body);
  const options: RequestOptions = {
    method: call.method,
    // The connection is used once and then closed: nothing needs to be kept alive.
    agent: false,
    signal: io.signal,
    headers: {
      ...baseHeaders(connection),
      accept: '*/*',
      // The digest is that of the file without HTTP compression, which Node would not undo.
      'accept-encoding': 'identity',
      te: 'trailers',
      connection: 'close, TE',
      ...(payload === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      ...call.headers,
    },
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options);
    const expire = (what: string, millis: number) =>
      setTimeout(() => outgoing.destroy(new Error(`no ${what} within ${millis / 1000} s`)), millis);
    let timer = expire('connection', io.timeouts.connectMillis);
    outgoing.on('socket', (socket) =>
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        timer = expire('answer', io.timeouts.answerMillis);
      }),
    );
    outgoing.on('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    // This listener is never removed: an abort during the body is reported here as well as by the body.
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(payload ?? undefined);
  });
}

/** The bytes of the answer. Throws `Broken` when none come for `idleMillis`, or the connection is cut. */
async function* readPieces(response: IncomingMessage, idleMillis: number): AsyncGenerator<Buffer> {
  let isWaiting = true;
  // Only the time that we wait for the service counts, not the time that a slow disk or pipe takes.
  const timer = setTimeout(() => {
    if (isWaiting) response.destroy(new Error(`nothing came for ${idleMillis / 1000} s`));
    else timer.refresh();
  }, idleMillis);
  try {
    for await (const piece of response) {
      isWaiting = false;
      yield piece as Buffer;
      isWaiting = true;
      timer.refresh();
    }
    if (!response.complete) throw new Error('the connection was cut');
  } catch (error) {
    throw new Broken(reasonOf(error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function readProblem(response: IncomingMessage): Promise<ApiError> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
  let text = '';
  try {
    for await (const piece of response) {
      text += String(piece);
      if (text.length > longestProblemBytes) break;
    }
  } catch {
    // The problem document was cut. The status alone still says what happened.
  }
  return new ApiError(response.statusCode ?? 0, headers, text);
}
