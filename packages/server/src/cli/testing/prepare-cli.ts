import { PassThrough } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { use } from '../../../test/use.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { ends, type RunOptions, type RunResult, run } from './run.ts';

type CliOptions = RunOptions & { typed?: string };
type Words = string | readonly string[];

type TestCli = {
  readonly api: Receiver;
  /** Runs a command line against it; words that have spaces come as a list. What is typed comes from a terminal. */
  readonly cli: (words: Words, options?: CliOptions) => Promise<RunResult>;
  /** What such a one prints, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly jsonOf: (words: Words, options?: CliOptions) => Promise<any>;
  /** The bodies that were sent so. */
  readonly sent: (method: string, path: string) => unknown[];
};

/** A server that plays the API for the tests of a file, and forgets after each what it was told. */
export function useReceiver(): Receiver {
  const api = use(startReceiver, (made) => made.close());
  afterEach(() => api.reset());
  return api;
}

/** Gives the tests of a file the command line and a server that it talks to, in this folder or in an empty one each time. */
export function prepareCli(folder?: { readonly path: string }): TestCli {
  const api = useReceiver();
  const cli: TestCli['cli'] = (words, { isTerminal, typed, env, ...rest } = {}) => {
    const stdin = new PassThrough();
    stdin.write(typed ?? '');
    return run(typeof words === 'string' ? words.split(' ') : words, {
      env: { ...api.env, NO_COLOR: '1', ...env },
      isTerminal: isTerminal ?? typed !== undefined,
      ...(typed !== undefined && { stdin }),
      ...(folder && { cwd: folder.path }),
      ...rest,
    });
  };
  return {
    api,
    cli,
    jsonOf: async (words, options) => JSON.parse((await cli(words, options)).stdout),
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
    await ends(run(words.split(' '), { env: api.env }), 2, [message]);
    expect(api.requests).toEqual([]);
  });
}
