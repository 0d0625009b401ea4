import sql from 'sql-template-tag';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { openDatabase } from '../../../platform/postgres/database.ts';

export type ClockedDatabase = TestDatabase & {
  /** From now on it is this time for the statements of this database. */
  setClock(instant: string): Promise<void>;
};

/** A database whose now() the test decides. */
export async function createClockedDatabase(instant: string): Promise<ClockedDatabase> {
  const made = await createTestDatabase();
  await made.query(sql`create table test_clock (at timestamptz not null)`);
  await made.query(sql`insert into test_clock values (${instant}::timestamptz)`);
  await made.pool.query(`create function public.now() returns timestamptz language sql stable
    as 'select at from public.test_clock'`);
  // Looked up before the built-in one, by connections made from now on.
  const name = new URL(made.url).pathname.slice(1);
  await made.pool.query(`alter database ${name} set search_path = public, pg_catalog`);
  const db = openDatabase({ url: made.url, maxConnections: 4, onError: () => {} });
  return {
    ...db,
    url: made.url,
    async setClock(at) {
      await db.query(sql`update test_clock set at = ${at}::timestamptz`);
    },
    async drop() {
      await db.close();
      await made.drop();
    },
  };
}
