import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files of e2e/ take minutes each and go first: one of them that began last would run alone, while the other
 * worker has nothing left to do. Files that share a process go last, one after the other: between two of them the
 * process would end.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (!project.config.isolate) return 2;
      return moduleId.includes('/e2e/') ? 0 : 1;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const shared = {
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 60_000,
  hookTimeout: 120_000,
} as const;
const withServices = ['packages/*/{src,test}/**/*.db.test.ts', 'e2e/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['packages/server/test/postgres.ts'],
    sequence: { sequencer: LongestFirst },
    ...shared,
    projects: [
      { test: { ...shared, name: 'service', include: withServices } },
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/**/*.test.mjs'],
          exclude: [...configDefaults.exclude, ...withServices],
          // These files load the same modules, and keep nothing in them: in a process for each file that took most of
          // their time, 0.8 s of CPU time a file.
          isolate: false,
        },
      },
    ],
  },
});
