import type { Environment } from '../config/settings.ts';
import type { Clock } from '../kernel/clock.ts';

export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};
export type TextStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
};

/** Everything of the process a command may touch. Handed in, so that tests run commands in-process. */
export type Io = {
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  readonly now: Clock;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeouts: Timeouts;
};

export type Timeouts = {
  readonly connectMs: number;
  /** From the connection to the head of the answer. */
  readonly answerMs: number;
  /** Between two pieces of an answer's body. */
  readonly idleMs: number;
};

export const defaultTimeouts: Timeouts = { connectMs: 10_000, answerMs: 60_000, idleMs: 120_000 };

/** Whether a stream is a terminal that understands cursor movements. */
export function isAnimated(io: Io): boolean {
  return io.stderr.isTTY === true && io.env.TERM !== 'dumb';
}
