import type { ServerResponse } from 'node:http';
import { AppError } from '../../kernel/errors.ts';

/** The reader hung up or stopped reading, which is no fault of the service. */
export class ReaderGone extends Error {}

/** Writes a piece, and waits until the system took it. Throws `ReaderGone` on a hang-up, or after `stallMillis`. */
export function write(
  response: ServerResponse,
  piece: Buffer | string,
  stallMillis: number,
): Promise<void> {
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

/** Each check is one look-up of a token by its key. */
const recheckMillis = 1000;

/**
 * Checks every second, while a long answer is sent, whether its caller may still have it. `onRefused` gets the 401
 * or 403, once: the token was revoked or has expired, or the session has ended. Returns what ends the watch.
 */
export function watchCaller(
  recheck: () => Promise<unknown>,
  onRefused: (error: AppError) => void,
): () => void {
  const timer = setInterval(() => {
    recheck().catch((error: unknown) => {
      // A database that does not answer for a moment cuts no answer. Meanwhile nobody can revoke anything either.
      if (!(error instanceof AppError) || ![401, 403].includes(error.status)) return;
      clearInterval(timer);
      onRefused(error);
    });
  }, recheckMillis);
  timer.unref();
  return () => clearInterval(timer);
}
