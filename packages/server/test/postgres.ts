import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { distributeSmall } from '../src/platform/postgres/distribute.ts';
import { startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { openDatabase } from '../src/platform/postgres/open-database.ts';
import { runOn, startCitus } from './citus.ts';
import { copyCluster } from './copy-cluster.ts';

/** One real PostgreSQL for the whole run; each test file clones the migrated template (database.ts). */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const pgConfig = process.env.SVC_TEST_CITUS;
  if (pgConfig !== undefined) return setUpCitus(project, pgConfig);
  // `npm test` names a folder in memory, where there is plenty of it, and removes it at the end.
  const dataDir = await mkdtemp(join(process.env.SVC_TEST_ROOM ?? tmpdir(), 'svcctl-test-'));
  // `npm run test:postgres` names another version here.
  const packageDir = process.env.SVC_TEST_POSTGRES;
  // What the planner knows of a table is what a test has told it, and not what was there at a random moment.
  const settings = { autovacuum_naptime: '1d' };
  const log = () => {};
  const start = () => startEmbeddedPostgres({ dataDir, fsync: false, packageDir, settings, log });
  const first = await start();
  const svcctl = openDatabase({ url: first.url, maxConnections: 2, onError: () => {} });
  await migrate(svcctl);
  await svcctl.close();
  await first.stop();
  const preparedCluster = join(dataDir, 'prepared');
  await copyCluster(join(dataDir, 'postgres'), preparedCluster);
  // To prove its password took 4 of the 11 ms of CPU time of a connection. Roles that tests make prove theirs.
  const access = ['host all svcctl 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256'];
  await writeFile(join(dataDir, 'postgres', 'pg_hba.conf'), `${access.join('\n')}\n`);

  const postgres = await start();
  const open = (name: string) => {
    const url = new URL(name, postgres.url).href;
    return openDatabase({ url, maxConnections: 2, onError: () => {} });
  };
  const admin = open('postgres');
  // A user's server may order and fold text by the rules of a language, which must not reach our SQL: all tests run under
  // those of Turkish, which folds I and i as no other does.
  await admin.pool.query(
    `create database template template template0 locale_provider icu icu_locale 'tr-TR' locale 'C'`,
  );
  const template = open('template');
  await migrate(template);
  await template.close();
  // What a role has set must not reach our SQL: all tests in the process run under these.
  await admin.pool.query(`alter role svcctl set datestyle = 'SQL, DMY'`);
  await admin.pool.query(`alter role svcctl set timezone = 'Asia/Kolkata'`);
  await admin.pool.query(`alter role svcctl set intervalstyle = 'sql_standard'`);
  await admin.close();
  project.provide('postgresUrl', postgres.url);
  project.provide('workerUrls', []);
  project.provide('preparedCluster', preparedCluster);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** A coordinator and two workers in its place. A database of Citus is cloned by cloning it on every node. */
async function setUpCitus(project: TestProject, pgConfig: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const citus = await startCitus(folder, pgConfig);
  await citus.join();
  const { url } = citus.coordinator;
  const svcctl = openDatabase({ url, maxConnections: 2, onError: () => {} });
  await migrate(svcctl);
  await distributeSmall(svcctl);
  await svcctl.close();
  const workerUrls = citus.workers.map((worker) => worker.url);
  for (const node of [url, ...workerUrls]) {
    const admin = new URL(node);
    admin.pathname = '/postgres';
    await runOn(admin.href, [
      // Citus keeps a connection of its own to each of its databases, and nobody may use what is cloned.
      'alter database svcctl with allow_connections false',
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = 'svcctl'`,
      'create database template template svcctl',
      'alter database svcctl with allow_connections true',
    ]);
  }
  project.provide('postgresUrl', url);
  project.provide('workerUrls', workerUrls);
  project.provide('preparedCluster', '');
  return async () => {
    await citus.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
