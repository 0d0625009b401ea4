import type { IncomingHttpHeaders } from 'node:http';
import type { Connection } from '../connection.ts';
import type { Io } from '../io.ts';
import { readPieces, readProblem, send } from '../send.ts';

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

/**
 * Requests a file. Throws an `ApiError` for what the service refuses,
 * and `service_unreachable` when there is no answer.
 */
export async function openAnswer(
  io: Io,
  connection: Connection,
  call: FileCall,
): Promise<FileAnswer> {
  const { headers, body, ...rest } = call;
  const response = await send(io, connection, {
    ...rest,
    isAlone: true,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: {
      accept: '*/*',
      // The digest is that of the file without HTTP compression, which Node would not undo.
      'accept-encoding': 'identity',
      te: 'trailers',
      connection: 'close, TE',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw await readProblem(response, io);
  return {
    status,
    headers: response.headers,
    pieces: readPieces(response, io.timeouts.idleMillis),
    trailer: (name) => response.trailers[name],
    cancel: () => response.destroy(),
  };
}
