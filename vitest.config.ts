import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * What takes minutes, and what may take one: these go first, because one of them that began last would run alone, while
 * the other workers have nothing left to do. On a fresh clone nothing else tells which are long.
 */
const longest = [
  /\/e2e\/slow\/(benches|import-crash|backup|s3-outage)\./,
  /\/e2e\/(slow\/(console|full-pass)|console\/(webhooks|exports|tags|retention))\b/,
  /\/(e2e|src\/(retention|exports|app|platform))\//,
];

/** Among those that are equally long, the ones that took longest in the last run go first, or else the largest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      const found = longest.findIndex((pattern) => pattern.test(moduleId));
      return found < 0 ? longest.length : found;
    };
    return sorted.toSorted((one, other) => place(one) - place(other));
  }
}

const server = 'packages/server/test/postgres.ts';
const database = ['packages/*/{src,test}/**/*.db.test.ts'];
const slow = ['e2e/slow/**/*.test.ts', 'packages/*/src/**/*.slow.*test.ts'];

type KindOptions = { exclude?: string[]; globalSetup?: string[]; env?: Record<string, string> };

/**
 * A kind of tests: which they are, and what is started for them once. `npm run test:slow` runs the kind `slow`: what takes
 * long by its nature, such as more records than the memory holds.
 */
const kind = (
  name: string,
  include: readonly string[],
  { exclude = [], ...more }: KindOptions = {},
) => ({
  extends: true as const,
  test: {
    name,
    include: [...include],
    exclude: [...configDefaults.exclude, ...exclude],
    setupFiles: ['packages/server/test/equal-bytes.ts'],
    ...more,
  },
});

const kinds = [
  kind('pure', ['packages/*/{src,test}/**/*.test.ts', '{scripts,sim}/**/*.test.mjs'], {
    exclude: [...database, ...slow],
  }),
  kind('db', database, { exclude: slow, globalSetup: [server] }),
  kind('e2e', ['e2e/**/*.test.ts'], { exclude: slow, globalSetup: [server] }),
  kind('slow', slow, {
    globalSetup: [server],
    env: { SVC_TEST_RUNS: process.env.SVC_TEST_RUNS ?? '3' },
  }),
];

/**
 * What `npm run test:citus` runs: the tests of the database, and those that only a cluster can answer. One starts a
 * server of its own, of the package; backups of a cluster are refused.
 */
const citus = kind(
  'citus',
  ['packages/server/src/**/*.db.test.ts', 'e2e/slow/full-pass.test.ts', 'e2e/citus/*.citus.ts'],
  { exclude: ['**/embedded.slow.db.test.ts', '**/app/{backup,restore}.*'], globalSetup: [server] },
);

export default defineConfig({
  test: {
    projects: process.env.SVC_TEST_CITUS === undefined ? kinds : [citus],
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // On two cores: tests wait for processes, disks and clocks in about a third of their time.
    maxWorkers: 3,
    // Files load the same modules, and keep nothing in them: in a process for each file that took most of the time of
    // many, 0.8 s of CPU time a file.
    isolate: false,
    // Only a fault ever waits so long: a machine that is busy with other work takes several times as long as a quiet
    // one. What a test waits for itself has half of it, so that its error can say what that was.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
