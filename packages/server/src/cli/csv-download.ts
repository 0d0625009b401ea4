import type { IncomingMessage, RequestOptions } from 'node:http';
import { AppError } from '../kernel/errors.ts';
import { ApiError } from './api-error.ts';
import { baseHeaders, basePath, reasonOf, unreachable } from './client.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { interrupted } from './retry.ts';

/** A CSV on its way: what the service announced of it, then its bytes. */
export type CsvDownload = {
  /** X-Record-Count. */
  readonly rowCount: number;
  /** The name the service suggests, without any folder. */
  readonly fileName: string | null;
  /** The bytes, as they come; throws when the connection is cut or stands still. */
  readonly pieces: AsyncIterable<Buffer>;
  /** After the last byte: the sha-256 of the trailer Repr-Digest in hex, null when there is none. */
  announcedSha256(): string | null;
  cancel(): void;
};

const longestProblemBytes = 1_000_000;

/** Starts an export. Uses node:http because fetch hides trailers. Throws `ApiError`, `service_unreachable`. */
export async function requestCsv(
  io: Io,
  connection: Connection,
  body: object,
): Promise<CsvDownload> {
  let response: IncomingMessage;
  try {
    response = await send(io, connection, JSON.stringify(body));
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    throw unreachable(connection, reasonOf(error), error);
  }
  if (response.statusCode !== 200) throw await readProblem(response);
  const rowCount = Number(response.headers['x-record-count'] ?? Number.NaN);
  if (!Number.isSafeInteger(rowCount)) {
    response.destroy();
    throw new AppError('answer_unexpected', {
      detail: `${connection.url} answered an export without X-Record-Count. Is this the right URL?`,
    });
  }
  return {
    rowCount,
    fileName: suggestedName(response.headers['content-disposition']),
    pieces: readPieces(response, io.timeouts.idleMs),
    announcedSha256: () => parseReprDigest(response.trailers['repr-digest']),
    cancel: () => response.destroy(),
  };
}

async function send(io: Io, connection: Connection, payload: string): Promise<IncomingMessage> {
  const url = new URL(`${connection.url}${basePath}/exports/csv`);
  const isTls = url.protocol === 'https:';
  const { request } = isTls ? await import('node:https') : await import('node:http');
  const options: RequestOptions = {
    method: 'POST',
    // One connection, closed afterwards: nothing to keep alive.
    agent: false,
    signal: io.signal,
    headers: {
      ...baseHeaders(connection),
      accept: 'text/csv, application/problem+json',
      // The digest is that of the uncoded CSV, and Node would not uncode it.
      'accept-encoding': 'identity',
      te: 'trailers',
      connection: 'close, TE',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
    },
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options);
    const expire = (what: string, ms: number) =>
      setTimeout(() => outgoing.destroy(new Error(`no ${what} within ${ms / 1000} s`)), ms);
    let timer = expire('connection', io.timeouts.connectMs);
    outgoing.on('socket', (socket) =>
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        timer = expire('answer', io.timeouts.answerMs);
      }),
    );
    outgoing.on('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    // Stays for good: an abort during the body is told here as well as by the body.
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(payload);
  });
}

async function* readPieces(response: IncomingMessage, idleMs: number): AsyncGenerator<Buffer> {
  let isWaiting = true;
  // Only our waiting for the service counts, not the time that a slow disk or pipe takes.
  const timer = setTimeout(() => {
    if (isWaiting) response.destroy(new Error(`nothing came for ${idleMs / 1000} s`));
    else timer.refresh();
  }, idleMs);
  try {
    for await (const piece of response) {
      isWaiting = false;
      yield piece as Buffer;
      isWaiting = true;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
  if (!response.complete) throw new Error('the connection was cut');
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
    // A cut problem document: the status alone still says what happened.
  }
  return new ApiError(response.statusCode ?? 0, headers, text);
}

/** `sha-256=:…:` (RFC 9530) in hex. */
function parseReprDigest(trailer: string | undefined): string | null {
  const base64 = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/.exec(trailer ?? '')?.[1];
  return base64 === undefined ? null : Buffer.from(base64, 'base64').toString('hex');
}

/** The file name of Content-Disposition, with nothing in it that could lead elsewhere. */
export function suggestedName(header: string | undefined): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(header ?? '')?.[1];
  const plain = /filename="((?:[^"\\]|\\.)*)"|filename=([^;\s"]+)/i.exec(header ?? '');
  const name =
    encoded === undefined ? (plain?.[1] ?? plain?.[2])?.replace(/\\(.)/g, '$1') : decode(encoded);
  const safe = name?.replace(/[\u0000-\u001f\u007f-\u009f/\\]/g, '_').replace(/^\.+/, '');
  return safe ? safe.slice(0, 200) : null;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
