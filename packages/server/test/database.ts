import { inject } from 'vitest';
import { randomText } from '../src/kernel/ids.ts';
import { type Database, openDatabase } from '../src/platform/postgres/database.ts';

export type TestDatabase = Database & { readonly url: string; drop(): Promise<void> };

/**
 * A database of its own, cloned from the migrated template, or from another one as it is now, whose
 * connections all break by that.
 */
export async function createTestDatabase(original?: { url: string }): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomText(12).toLowerCase()}`;
  const template = original === undefined ? 'template' : new URL(original.url).pathname.slice(1);
  if (original !== undefined) {
    await asAdmin(adminUrl, `alter database ${template} with allow_connections false`);
    await asAdmin(
      adminUrl,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${template}'`,
    );
  }
  // Without writing every block to the WAL, a copy takes half the CPU time.
  await asAdmin(adminUrl, `create database ${name} template ${template} strategy file_copy`);
  if (original !== undefined) {
    await asAdmin(adminUrl, `alter database ${template} with allow_connections true`);
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const db = openDatabase({ url: url.href, maxConnections: 12, onError: () => {} });
  return {
    ...db,
    url: url.href,
    async drop() {
      await db.close();
      await asAdmin(adminUrl, `drop database ${name} with (force)`);
    },
  };
}

async function asAdmin(url: string, statement: string): Promise<void> {
  const admin = openDatabase({ url, maxConnections: 1, onError: () => {} });
  try {
    await admin.pool.query(statement);
  } finally {
    await admin.close();
  }
}
