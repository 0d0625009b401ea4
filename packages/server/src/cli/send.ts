import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../kernel/errors.ts';
import { basePath } from '../kernel/values.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { interrupted } from './retry.ts';

export type Call = {
  readonly method: string;
  /** The path, without the base path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream may take as long as its source does. */
  readonly body?: string | AsyncIterable<Uint8Array> | undefined;
  /** Has a connection of its own, which is closed behind the answer. */
  readonly isAlone?: true;
};

/**
 * Makes a call, and answers when the head of its answer is there. Throws `interrupted`, and `service_unreachable` when there
 * is no answer. It uses node:http: fetch hides trailers, and to load it takes 150 ms of a processor, more than all else of
 * a command. Redirects are not followed: the token must not be sent anywhere else.
 */
export async function send(io: Io, connection: Connection, call: Call): Promise<IncomingMessage> {
  try {
    return await begin(io, connection, call);
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    throw unreachable(connection, reasonOf(error), error);
  }
}

async function begin(io: Io, connection: Connection, call: Call): Promise<IncomingMessage> {
  const { method, path, headers, body, isAlone } = call;
  const url = new URL(`${connection.url}${basePath}${path}`);
  const isTls = url.protocol === 'https:';
  const make = isTls ? (await import('node:https')).request : request;
  const text = typeof body === 'string' ? body : undefined;
  const stream = typeof body === 'string' ? undefined : body;
  return new Promise((resolve, reject) => {
    const outgoing = make(url, {
      method,
      ...(isAlone ? { agent: false } : {}),
      signal: io.signal,
      headers: {
        ...baseHeaders(connection),
        ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
        ...headers,
      },
    });
    const expire = (reason: string, millis: number) =>
      setTimeout(() => outgoing.destroy(new Error(`${reason} ${millis / 1000} s`)), millis);
    let timer: NodeJS.Timeout | undefined = expire(
      'no connection within',
      io.timeouts.connectMillis,
    );
    /** Ends the watch over a body that is a stream. */
    let endWatch = () => {};
    const awaitAnswer = (socket: Socket) => {
      clearTimeout(timer);
      if (stream === undefined) timer = expire(noAnswer, io.timeouts.answerMillis);
      else endWatch = watchSilence(socket, outgoing, io.timeouts.silentMillis);
    };
    outgoing.on('socket', (socket) => {
      if (!socket.connecting) awaitAnswer(socket);
      else socket.once(isTls ? 'secureConnect' : 'connect', () => awaitAnswer(socket));
    });
    outgoing.on('response', (response) => {
      clearTimeout(timer);
      endWatch();
      // What the service answers before it has all is final, and the rest of the body is not sent.
      response.once('end', () => outgoing.writableFinished || outgoing.destroy());
      resolve(response);
    });
    // This listener is never removed: an abort during the body is reported here as well as by the body.
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    if (stream === undefined) {
      outgoing.end(text);
      return;
    }
    // What is wrong with the source destroys the request, which tells it.
    void pipeline(stream, outgoing).catch(() => {});
  });
}

/**
 * Ends a call when nothing moves on its socket for so long although the body is at its end, or no more of it is taken: a
 * slow source of the body is no fault of the service. A socket tells of its silence once, so it is asked again each time;
 * a listener of the call would be gone after the first. Returns what ends the watch.
 */
function watchSilence(socket: Socket, outgoing: ClientRequest, silentMillis: number): () => void {
  const look = () => {
    if (outgoing.writableEnded || outgoing.writableNeedDrain) {
      outgoing.destroy(new Error(`${noAnswer} ${silentMillis / 1000} s`));
    } else socket.setTimeout(silentMillis);
  };
  socket.setTimeout(silentMillis).on('timeout', look);
  return () => socket.setTimeout(0).off('timeout', look);
}

const longestProblemBytes = 1_000_000;

/** The connection broke, or no bytes came for too long. */
export class Broken extends Error {}

/** The bytes of an answer. Throws `Broken` when none come for `idleMillis`, or the connection is cut. */
export async function* readPieces(
  response: IncomingMessage,
  idleMillis: number,
): AsyncGenerator<Buffer> {
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

/** The text of an answer, or the first of it. Throws as `readPieces` does. */
export async function readText(
  response: IncomingMessage,
  idleMillis: number,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of readPieces(response, idleMillis)) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > mostBytes) break;
  }
  const whole = Buffer.concat(pieces);
  if (response.headers['content-encoding'] !== 'gzip') return whole.toString();
  const { gunzipSync } = await import('node:zlib');
  return gunzipSync(whole).toString();
}

/** What the service says of a call that it refuses. */
export async function readProblem(response: IncomingMessage, { timeouts }: Io): Promise<ApiError> {
  // Where the problem document is cut, the status alone still says what happened.
  const text = await readText(response, timeouts.idleMillis, longestProblemBytes).catch(() => '');
  return new ApiError(response.statusCode ?? 0, response.headers, text);
}

/** The headers of every call. */
function baseHeaders(connection: Connection): Record<string, string> {
  return {
    authorization: `Bearer ${connection.token}`,
    accept: 'application/json, application/problem+json',
    'user-agent': 'svcctl-cli',
  };
}

/** The error for a service that does not answer; it says where that service was looked for. */
export function unreachable(connection: Connection, reason: string, cause: unknown): AppError {
  return new AppError('service_unreachable', {
    detail: `${connection.url} does not answer: ${reason}. ${adviceOf(connection, reason)}`,
    cause,
  });
}

function adviceOf({ source, place }: Connection, reason: string): string {
  if (reason.startsWith(noAnswer)) {
    return 'Its process may be frozen, or has too much to do. On its machine: svcctl doctor';
  }
  return source === 'local service'
    ? 'The service of this folder seems to have stopped. Start it: svcctl serve'
    : `Is the service running, and is the URL right? It is from ${place}.`;
}

const noAnswer = 'no answer within';

/** Says in a few words what went wrong below HTTP. */
export function reasonOf(error: unknown): string {
  // What broke a download is wrapped, and a name with several addresses wraps one error for each.
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const code = first instanceof Error && 'code' in first ? String(first.code) : '';
  return reasons[code] ?? (first instanceof Error && first.message ? first.message : String(first));
}

const reasons: Record<string, string | undefined> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'no connection in time',
};
