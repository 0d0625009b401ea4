import { AppError } from '../kernel/errors.ts';
import type { TextStream } from './io.ts';

/** The reader of our output hung up (`| head`): no error, just the end. */
export class OutputClosed extends Error {}

/** Writes to stdout and waits while its reader is slow. Throws `OutputClosed`, `file_unreadable`. */
export type Writer = {
  write(chunk: string | Uint8Array): Promise<void>;
  /** Until everything is handed to the system: only then is it known that the disk was not full. */
  flush(): Promise<void>;
};

export function createWriter(stream: TextStream): Writer {
  let failure: Error | undefined;
  // Listens for good: an unheard error event would end the process with a stack trace.
  stream.on('error', (error) => {
    failure ??= error;
  });
  const check = () => {
    if (failure !== undefined) throw translate(failure);
  };
  return {
    async write(chunk) {
      check();
      if (stream.write(chunk)) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          stream.off('drain', done);
          stream.off('error', done);
          stream.off('close', done);
          resolve();
        };
        stream.on('drain', done).on('error', done).on('close', done);
      });
      check();
    },
    async flush() {
      check();
      await new Promise<void>((resolve) => {
        stream.write('', (error) => {
          if (error) failure ??= error;
          resolve();
        });
      });
      check();
    },
  };
}

function translate(error: Error): Error {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosed();
  return new AppError('file_unreadable', {
    detail: `The output cannot be written: ${error.message}.`,
    cause: error,
  });
}
