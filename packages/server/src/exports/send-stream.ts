import type { ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import { AppError } from '../kernel/errors.ts';
import { transformed } from '../platform/work/transformed.ts';
import type { FileStream } from './stream-file.ts';

/**
 * The sizes of single writes. Large pieces take half the time of small ones, but with small ones it shows sooner that a
 * slow reader still reads.
 */
const largePieceBytes = 256 * 1024;
const smallPieceBytes = 64 * 1024;
const quickMillis = 1_000;

/**
 * Writes an export to the response, at the pace of the reader. Throws what ended it early: `ReaderGone` when the reader
 * took nothing for `stallMillis`. The caller then resets the connection.
 */
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

/**
 * Writes one piece and waits until the system has taken it. Throws `ReaderGone` when the reader hung up, or took
 * nothing for `stallMillis`.
 */
export function write(response: ServerResponse, piece: Buffer, stallMillis: number): Promise<void> {
  if (response.destroyed) return Promise.reject(new ReaderGone('the reader hung up'));
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      clearTimeout(timer);
      response.off('close', onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onClose = () => done(new ReaderGone('the reader hung up'));
    const timer = setTimeout(
      () => done(new ReaderGone(`the reader took nothing for ${stallMillis / 1000} s`)),
      stallMillis,
    );
    response.on('close', onClose);
    response.write(piece, (error) => (error ? onClose() : done()));
  });
}

/** How often the caller of a download is checked again. */
const recheckMillis = 5000;

/**
 * Checks now and then, while a file is sent, whether its caller may still have it. `onRefused` gets the 401 or 403, once:
 * the token was revoked or has expired, or the session has ended. Returns what ends the watch.
 */
export function watchCaller(
  recheck: () => Promise<unknown>,
  onRefused: (error: AppError) => void,
): () => void {
  const timer = setInterval(() => {
    recheck().catch((error: unknown) => {
      // A database that does not answer for a moment cuts no download. Meanwhile nobody can revoke anything either.
      if (!(error instanceof AppError) || ![401, 403].includes(error.status)) return;
      clearInterval(timer);
      onRefused(error);
    });
  }, recheckMillis);
  timer.unref();
  return () => clearInterval(timer);
}

/** The reader hung up or stopped reading, which is no fault of the service. */
export class ReaderGone extends Error {}

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
