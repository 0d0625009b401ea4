import { rm } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { newFolder } from '../../../test/folder.ts';
import type { Io, Timeouts } from '../io.ts';
import { runCli } from '../run.ts';

export { newFolder, useFolder } from '../../../test/folder.ts';

export type RunOptions = {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string | Readable;
  /** Whether stdin, stdout and stderr are a terminal; of 100 columns unless told otherwise. */
  isTerminal?: boolean;
  columns?: number;
  signal?: AbortSignal;
  /** Default: always `nowMillis`. */
  now?: () => number;
  /** How long a wait of the command takes at most; by default it takes no time. */
  longestSleepMillis?: number;
  timeouts?: Partial<Timeouts>;
  /** Called with each piece of stdout, which is taken when this resolves; throw to have the write fail with that error. */
  onStdout?: (text: string) => void | Promise<void>;
  onStderr?: (text: string) => void;
};
export type RunResult = { code: number; stdout: string; stderr: string; sleepsMillis: number[] };

export const nowMillis = Date.UTC(2026, 2, 5, 12);

/** Runs a command line in-process, in an empty folder of its own, and answers all it said. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const cwd = options.cwd ?? (await newFolder());
  const isTTY = options.isTerminal === true;
  const { columns = 100 } = options;
  const stdout = collector({ isTTY, columns }, options.onStdout);
  const stderr = collector({ isTTY, columns }, options.onStderr);
  const sleepsMillis: number[] = [];
  const io: Io = {
    env: { HOME: cwd, ...options.env },
    cwd,
    platform: 'linux x64 glibc',
    stdin: Object.assign(streamOf(options.stdin ?? ''), { isTTY }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    signal: options.signal ?? new AbortController().signal,
    onNextSignal: () => {},
    now: options.now ?? (() => nowMillis),
    sleep: async (ms, signal) => {
      sleepsMillis.push(ms);
      signal.throwIfAborted();
      const { longestSleepMillis = 0 } = options;
      if (longestSleepMillis > 0) await delay(Math.min(ms, longestSleepMillis));
    },
    timeouts: {
      connectMillis: 5000,
      answerMillis: 5000,
      silentMillis: 5000,
      idleMillis: 5000,
      completionMillis: 5000,
      ...options.timeouts,
    },
  };
  const code = await runCli(argv, io);
  if (options.cwd === undefined) await rm(cwd, { recursive: true });
  return { code, stdout: stdout.text(), stderr: stderr.text(), sleepsMillis };
}

/** Takes a piece of stdout late. */
export async function slowly(): Promise<void> {
  for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate);
}

type Text = string | RegExp;

/**
 * Proves how a run ended: with this exit code, this stdout, and each of these texts on stderr. What fails prints nothing on
 * stdout, unless told what; what succeeds is looked at only where it is told.
 */
export async function ends(
  running: Promise<RunResult>,
  code: number,
  ...expected: [said?: readonly Text[]] | [stdout: Text, said?: readonly Text[]]
): Promise<RunResult> {
  const result = await running;
  const [stdout = code === 0 ? /^/ : /^$/, said = []] = Array.isArray(expected[0])
    ? [undefined, expected[0]]
    : (expected as [Text?, (readonly Text[])?]);
  expect(result, result.stderr).toMatchObject({
    code,
    stdout: typeof stdout === 'string' ? stdout : expect.stringMatching(stdout),
  });
  for (const text of said) {
    if (typeof text === 'string') expect(result.stderr).toContain(text);
    else expect(result.stderr).toMatch(text);
  }
  return result;
}

function streamOf(input: string | Readable): Readable {
  return typeof input === 'string' ? Readable.from([Buffer.from(input)]) : input;
}

function collector(
  terminal: { isTTY: boolean; columns: number },
  onText: (text: string) => void | Promise<void> = () => {},
) {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      const take = () => {
        pieces.push(piece);
        done();
      };
      try {
        const taking = onText(piece.toString());
        if (taking === undefined) take();
        else void taking.then(take);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return { stream: Object.assign(stream, terminal), text: () => Buffer.concat(pieces).toString() };
}
