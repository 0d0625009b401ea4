import type { Environment } from '../config/settings.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';

/** The reader of our output has hung up (`| head`). This is no error: the command just ends. */
export class OutputClosed extends Error {}

/** Writes to stdout, and waits while its reader is slow. Throws `OutputClosed`, `file_unreadable`. */
export type Writer = {
  write(chunk: string | Uint8Array): Promise<void>;
  /** Resolves once everything was handed to the system: only then is it known that the disk was not full. */
  flush(): Promise<void>;
};

/** Makes a writer for a stream that may be closed by its reader at any time. */
export function createWriter(stream: TextStream): Writer {
  let failure: Error | undefined;
  // This listener stays for ever: an error event without one would end the process with a stack trace.
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

/** The error of a stream, as `OutputClosed` when its reader hung up. */
function translate(error: Error): Error {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosed();
  return new AppError('file_unreadable', {
    detail: `The output cannot be written: ${error.message}.`,
    cause: error,
  });
}

type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};
type TextStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * Everything of the process that a command may touch. It is passed in, so that tests can run commands in their own
 * process.
 */
export type Io = {
  readonly env: Environment;
  readonly cwd: string;
  /** The system, the processor and the C library, such as `linux x64 glibc`. */
  readonly platform: string;
  readonly stdin: Input;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Has the next such signal after the first be handled so, once, instead of ending the process; null takes it back. */
  readonly onNextSignal: (handle: (() => void) | null) => void;
  readonly now: Clock;
  /** Waits; rejects when the signal aborts. */
  readonly sleep: (millis: number, signal: AbortSignal) => Promise<void>;
  readonly timeouts: Timeouts;
};

/** How long a command waits for the service, in milliseconds. */
export type Timeouts = {
  readonly connectMillis: number;
  /** The longest wait from the connection to the head of the answer. */
  readonly answerMillis: number;
  /** The longest silence of the service about a body that is a stream, of which all that it takes is sent. */
  readonly silentMillis: number;
  /** The longest wait between two pieces of an answer's body. */
  readonly idleMillis: number;
  /** The longest wait of a shell for completions. */
  readonly completionMillis: number;
};

export const defaultTimeouts: Timeouts = {
  connectMillis: 10_000,
  answerMillis: 60_000,
  silentMillis: 300_000,
  idleMillis: 120_000,
  // A shell feels broken when it waits longer.
  completionMillis: 300,
};

/** Whether a stream is a terminal that understands cursor movements. */
export function isAnimated(io: Io): boolean {
  return io.stderr.isTTY === true && io.env.TERM !== 'dumb';
}

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39] } as const;
type Style = keyof typeof codes;

/** Colours a text for a stream, except in pipes, with NO_COLOR (no-color.org), and on a dumb terminal. */
export function styled(io: Io, stream: TextStream, style: Style, text: string): string {
  const isPlain = stream.isTTY !== true || Boolean(io.env.NO_COLOR) || io.env.TERM === 'dumb';
  if (isPlain) return text;
  const [on, off] = codes[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}
