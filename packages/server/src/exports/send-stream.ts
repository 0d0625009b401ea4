import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../kernel/errors.ts';
import { ReaderGone, watchCaller, write } from '../platform/http/long-answer.ts';
import type { Log } from '../platform/log.ts';
import { transformed } from '../platform/work/transformed.ts';
import type { FileStream } from './stream-file.ts';

/** The sizes of single writes: large ones take half the time, small ones show sooner that a slow reader still reads. */
const largePieceBytes = 256 * 1024;
const smallPieceBytes = 64 * 1024;
const quickMillis = 1_000;

/** Writes an export at the pace of the reader. Throws what ended it, as `ReaderGone`: then reset the connection. */
export async function sendExport(
  response: ServerResponse,
  file: FileStream,
  options: { gzip: boolean; stallMillis: number },
): Promise<void> {
  // Level 3 takes half the time of level 6 and makes 6 % more bytes.
  const coded = options.gzip ? transformed(file.chunks(), createGzip({ level: 3 })) : file.chunks();
  let pieceBytes = smallPieceBytes;
  for await (const chunk of coded) {
    for (let start = 0, end = 0; start < chunk.length; start = end) {
      end = start + pieceBytes;
      const startedAt = performance.now();
      await write(response, chunk.subarray(start, end), options.stallMillis);
      const isQuick = performance.now() - startedAt < quickMillis;
      pieceBytes = isQuick ? largePieceBytes : smallPieceBytes;
    }
  }
  response.addTrailers({ 'repr-digest': `sha-256=:${file.sha256().toString('base64')}:` });
  response.end();
}

/** The call that a file answers. */
export type SendCall = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Throws 401 or 403 once the caller may no longer have the file. */
  readonly recheck: () => Promise<unknown>;
};

type Sending = {
  /** Aborts when the reader hung up, or its caller may not have the file any more. */
  readonly signal: AbortSignal;
  /** Begins the answer. After that an error cannot be answered any more; the connection can only be reset. */
  readonly open: (status: number, headers: OutgoingHttpHeaders) => void;
};

/**
 * Answers by `send`, and watches reader and caller meanwhile. What fails before the answer has begun is thrown; after
 * that it is logged, and the connection is reset, so that what arrived cannot look whole.
 */
export async function answerWatched(
  { request, reply, recheck }: SendCall,
  { log, what }: { log: Log; what: string },
  send: (sending: Sending) => Promise<void>,
): Promise<void> {
  const response = reply.raw;
  const ending = new AbortController();
  const { signal } = ending;
  // Without this, a reader that hangs up would be noticed only when the next piece is sent, which may take long.
  const onClose = () => ending.abort(new ReaderGone('the reader hung up'));
  response.on('close', onClose);
  const endWatch = watchCaller(recheck, (error) => {
    ending.abort(error);
    // What the system holds for a slow reader, some megabytes, is not sent either.
    if (response.headersSent) response.socket?.resetAndDestroy();
  });
  const open: Sending['open'] = (status, headers) => {
    reply.hijack();
    response.writeHead(status, headers);
  };
  try {
    await send({ signal, open });
  } catch (error) {
    const err: unknown = signal.aborted ? signal.reason : error;
    const isGone = err instanceof ReaderGone;
    // Nobody is left to receive an answer.
    if (isGone && !reply.sent) reply.hijack();
    if (!reply.sent) throw err;
    // What is away for a while is no mistake of ours.
    const isAway = err instanceof AppError && err.status === 503;
    const level = isGone || signal.aborted ? 'info' : isAway ? 'warn' : 'error';
    log[level]({ err, reqId: request.id }, `${what} ended early`);
    response.destroy();
  } finally {
    endWatch();
    response.off('close', onClose);
  }
}

/** A Content-Disposition (RFC 6266) with this file name. A name that is not plain ASCII also appears in UTF-8. */
export function disposition(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '-');
  const full = plain === name ? '' : `; filename*=UTF-8''${percentEncoded(name)}`;
  return `attachment; filename="${plain}"${full}`;
}

/** Encodes a name as RFC 8187 says. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
