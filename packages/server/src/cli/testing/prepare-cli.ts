import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Receiver, startReceiver } from './receiver.ts';
import { type RunResult, run } from './run.ts';

type CliOptions = { isTerminal?: boolean; typed?: string; signal?: AbortSignal };

export type TestCli = {
  /** The server that plays the API, which forgets after each test what it was told. */
  readonly api: Receiver;
  /** Runs a command line against it. What is typed comes from a terminal. */
  readonly cli: (words: string, options?: CliOptions) => Promise<RunResult>;
  /** The bodies that were sent so. */
  readonly sent: (method: string, path: string) => unknown[];
};

/** Gives the tests of a file the command line and a server that it talks to. */
export function prepareCli(): TestCli {
  let api: Receiver;
  beforeAll(async () => {
    api = await startReceiver();
  });
  afterEach(() => api.reset());
  afterAll(() => api.close());
  return {
    get api() {
      return api;
    },
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
