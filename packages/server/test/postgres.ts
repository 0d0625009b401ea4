import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../src/platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { copyCluster } from './copy-cluster.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The test server's database `svcctl`, migrated; `template` in its place is what is cloned. */
    postgresUrl: string;
  }
}

/** One real PostgreSQL for the whole run; each test file clones the migrated template (database.ts). */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  // `npm run test:postgres` names another version here.
  const packageDir = process.env.SVC_TEST_POSTGRES;
  const start = () => startEmbeddedPostgres({ dataDir, fsync: false, packageDir, log: () => {} });
  const first = await start();
  const svcctl = openDatabase({ url: first.url, maxConnections: 2, onError: () => {} });
  await migrate(svcctl);
  await svcctl.close();
  await first.stop();
  const preparedCluster = join(dataDir, 'prepared');
  await copyCluster(join(dataDir, 'postgres'), preparedCluster);

  const postgres = await start();
  const url = new URL(postgres.url);
  url.pathname = '/postgres';
  const admin = openDatabase({ url: url.href, maxConnections: 1, onError: () => {} });
  await admin.pool.query('create database template template svcctl');
  // What a role has set must not reach our SQL: all tests in the process run under these.
  await admin.pool.query(`alter role svcctl set datestyle = 'SQL, DMY'`);
  await admin.pool.query(`alter role svcctl set timezone = 'Asia/Kolkata'`);
  await admin.pool.query(`alter role svcctl set intervalstyle = 'sql_standard'`);
  await admin.close();
  project.provide('postgresUrl', postgres.url);
  project.provide('preparedCluster', preparedCluster);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
