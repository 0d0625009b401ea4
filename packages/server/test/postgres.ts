import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../src/platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The test server's database `svcctl`; `template` in its place is the migrated template. */
    postgresUrl: string;
  }
}

/** One real PostgreSQL for the whole run; each test file clones the migrated template (database.ts). */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const postgres = await startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} });
  const admin = openDatabase({ url: postgres.url, maxConnections: 2, onError: () => {} });
  await admin.pool.query('create database template');
  await admin.close();
  const template = openDatabase({
    url: databaseUrl(postgres.url, 'template'),
    maxConnections: 2,
    onError: () => {},
  });
  await migrate(template);
  await template.close();
  project.provide('postgresUrl', postgres.url);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

function databaseUrl(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
