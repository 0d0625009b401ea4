import { inject } from 'vitest';
import { randomText } from '../src/kernel/ids.ts';
import { type Database, openDatabase } from '../src/platform/postgres/database.ts';

export type TestDatabase = Database & { readonly url: string; drop(): Promise<void> };

/** A database of its own, cloned from the migrated template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomText(12).toLowerCase()}`;
  await asAdmin(adminUrl, `create database ${name} template template`);
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
