import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files of e2e/ take minutes each and go first: one of them that began last would run alone, while the other
 * worker has nothing left to do. Files that share a process go last, one after the other: between two of them the
 * process would end.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project }: TestSpecification) => (project.config.isolate ? 0 : 1);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const shared = {
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 60_000,
  hookTimeout: 120_000,
} as const;

export default defineConfig({
  test: {
    globalSetup: ['packages/server/test/postgres.ts'],
    sequence: { sequencer: LongestFirst },
    ...shared,
    projects: [
      { test: { ...shared, name: 'e2e', include: ['e2e/**/*.test.ts'] } },
      {
        test: {
          ...shared,
          name: 'inside',
          include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/**/*.test.mjs'],
          // These files load the same modules, and keep nothing in them: in a process for each file that took most of
          // their time, 0.8 s of CPU time a file.
          isolate: false,
        },
      },
    ],
  },
});
