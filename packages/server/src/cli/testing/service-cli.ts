import { expect } from 'vitest';
import { type TestService, useTestService } from '../../../test/service.ts';
import type { Environment } from '../../config/settings.ts';
import { type RunOptions, type RunResult, run } from './run.ts';

type ServiceCliOptions = RunOptions & { token?: string };

type ServiceCli = {
  readonly service: TestService;
  /** Runs a command line against the service, as its admin unless told otherwise. */
  readonly cli: (words: string, options?: ServiceCliOptions) => Promise<RunResult>;
  /** The same of one that must succeed. */
  readonly ok: (words: string, options?: ServiceCliOptions) => Promise<RunResult>;
  /** What such a one prints as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly jsonOf: (words: string, options?: ServiceCliOptions) => Promise<any>;
  /** Stores records. */
  readonly store: (records: readonly object[]) => Promise<void>;
};

/** Gives the tests of a file a service and the command line that talks to it, in this folder or in an empty one each time. */
export function useServiceCli(
  settings: Environment = {},
  folder?: { readonly path: string },
): ServiceCli {
  const service = useTestService(settings);
  const cli = (words: string, options: ServiceCliOptions = {}) => {
    const { token = service.adminToken, env, ...more } = options;
    return run(words.split(' '), {
      now: Date.now,
      // A command that asked again and again without a pause would take the time of the work that it waits for.
      longestSleepMillis: 20,
      // A busy machine may be slow.
      timeouts: { answerMillis: 60_000, idleMillis: 60_000 },
      env: { SVC_URL: service.url, SVC_TOKEN: token, NO_COLOR: '1', ...env },
      ...(folder && { cwd: folder.path }),
      ...more,
    });
  };
  const ok = async (words: string, options?: ServiceCliOptions) => {
    const result = await cli(words, options);
    expect(result, result.stderr).toMatchObject({ code: 0 });
    return result;
  };
  return {
    service,
    cli,
    ok,
    jsonOf: async (words, options) => JSON.parse((await ok(words, options)).stdout),
    async store(records) {
      const body = { records };
      const { json } = await service.call('POST', '/enrichment/records', { body });
      expect(json).toMatchObject({ accepted: records.length });
    },
  };
}
