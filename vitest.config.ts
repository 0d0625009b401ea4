import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/**/src/**/*.test.ts',
      'packages/server/test/**/*.test.ts',
      'e2e/**/*.test.ts',
      'scripts/**/*.test.mjs',
    ],
    globalSetup: ['packages/server/test/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
