import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Receiver, startReceiver } from './receiver.ts';
import { type RunResult, run } from './run.ts';

type CliOptions = { isTerminal?: boolean; typed?: string; signal?: AbortSignal };

export type TestCli = {
  readonly api: Receiver;
  /** Runs a command line against it. What is typed comes from a terminal. */
  readonly cli: (words: string, options?: CliOptions) => Promise<RunResult>;
  /** The bodies that were sent so. */
  readonly sent: (method: string, path: string) => unknown[];
};

/** A server that plays the API for the tests of a file, and forgets after each what it was told. */
export function useReceiver(): Receiver {
  const api = {} as Receiver;
  beforeAll(async () => {
    Object.assign(api, await startReceiver());
  });
  afterEach(() => api.reset());
  afterAll(() => api.close());
  return api;
}

/** Gives the tests of a file the command line and a server that it talks to. */
export function prepareCli(): TestCli {
  const api = useReceiver();
  return {
    api,
    cli(words, { isTerminal, typed, ...rest } = {}) {
      const stdin = new PassThrough();
      if (typed !== undefined) stdin.write(typed);
      return run(words.split(' '), {
        env: { ...api.env, NO_COLOR: '1' },
        isTerminal: isTerminal ?? typed !== undefined,
        stdin,
        ...rest,
      });
    },
    sent: (method, path) =>
      api.requests
        .filter((request) => request.method === method && request.path === path)
        .map((request) => JSON.parse(String(request.body))),
  };
}

/** Proves of command lines that they are usage errors, which say so before anything is asked. */
export function refusesUsage(
  api: Receiver,
  rows: readonly (readonly [words: string, message: string])[],
): void {
  test.each(rows)('%s is a usage error, before anything is asked', async (words, message) => {
    const { code, stdout, stderr } = await run(words.split(' '), { env: api.env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(api.requests).toEqual([]);
  });
}
