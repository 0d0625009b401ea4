import sql from 'sql-template-tag';
import { inject } from 'vitest';
import { randomText } from '../src/kernel/ids.ts';
import { baseline, replaced } from '../src/platform/postgres/baseline.ts';
import type { Database, Queryable } from '../src/platform/postgres/database.ts';
import { openDatabase } from '../src/platform/postgres/open-database.ts';
import { runOn } from './citus.ts';
import { use } from './use.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The test server's database `svcctl`, migrated; `template` in its place is what is cloned. */
    postgresUrl: string;
    /** The same database on each worker, when the tests run on Citus. */
    workerUrls: string[];
  }
}

export type TestDatabase = Database & { readonly url: string; drop(): Promise<void> };

/**
 * A database of its own, cloned from the migrated template, or from another one as it is now, whose
 * connections all break by that.
 */
export async function createTestDatabase(original?: { url: string }): Promise<TestDatabase> {
  const name = `test_${randomText(12).toLowerCase()}`;
  const template = original === undefined ? 'template' : new URL(original.url).pathname.slice(1);
  const nodes = [inject('postgresUrl'), ...inject('workerUrls')].map(adminUrl);
  if (original !== undefined) await close(nodes, template);
  for (const node of nodes) {
    // Without writing every block to the WAL, a copy takes half the CPU time.
    await runOn(node, [`create database ${name} template ${template} strategy file_copy`]);
    if (original !== undefined) {
      await runOn(node, [`alter database ${template} with allow_connections true`]);
    }
  }
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const db = openDatabase({ url: url.href, maxConnections: 12, onError: () => {} });
  return {
    ...db,
    url: url.href,
    async drop() {
      await db.close();
      if (nodes.length > 1) await close(nodes, name);
      for (const node of nodes) await runOn(node, [`drop database ${name} with (force)`]);
    },
  };
}

/** Such a database for all tests of a file. */
export function useTestDatabase(): TestDatabase {
  return use(
    () => createTestDatabase(),
    (db) => db.drop(),
  );
}

/**
 * Has a database say that these migrations from before the baseline have made what the baseline makes. Its tables, and
 * what it says of later migrations, stay the same.
 */
export async function writeOldJournal(db: Queryable, migrations = replaced): Promise<void> {
  await db.query(sql`
    delete from schema_migrations where name = any(${[baseline, ...replaced.keys()]}::text[])`);
  await db.query(sql`
    insert into schema_migrations (name, checksum)
    select * from unnest(${[...migrations.keys()]}::text[], ${[...migrations.values()]}::text[])`);
}

/** Ends all connections to a database, on every node before the next step: nodes connect to each other. */
async function close(nodes: readonly string[], database: string): Promise<void> {
  for (const node of nodes) {
    await runOn(node, [
      `alter database ${database} with allow_connections false`,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${database}'`,
    ]);
  }
}

/** The URLs of a test's database on its server, or on each node of its cluster. */
export function urlsOnNodes({ url }: { url: string }): string[] {
  return [inject('postgresUrl'), ...inject('workerUrls')].map(
    (node) => Object.assign(new URL(node), { pathname: new URL(url).pathname }).href,
  );
}

/** The database `postgres` of the same server: a worker of a cluster makes no databases from within its own. */
function adminUrl(node: string): string {
  const url = new URL(node);
  url.pathname = '/postgres';
  return url.href;
}
