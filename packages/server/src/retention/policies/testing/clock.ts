import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { openDatabase } from '../../../platform/postgres/open-database.ts';

export type ClockedDatabase = TestDatabase & {
  /** From now on it is this time for the statements of this database. */
  setClock(instant: string): Promise<void>;
};

/** A database whose now() the test decides. */
export async function createClockedDatabase(instant: string): Promise<ClockedDatabase> {
  const made = await createTestDatabase();
  await setNow(made, instant);
  // Looked up before the built-in one, by connections made from now on.
  const name = new URL(made.url).pathname.slice(1);
  await made.pool.query(`alter database ${name} set search_path = public, pg_catalog`);
  const db = openDatabase({ url: made.url, maxConnections: 4, onError: () => {} });
  return {
    ...db,
    url: made.url,
    setClock: (at) => setNow(db, at),
    async drop() {
      await db.close();
      await made.drop();
    },
  };
}

/** The time stands in the function: the workers of a cluster get that, and let it look into no table. */
async function setNow({ pool }: Database, instant: string): Promise<void> {
  await pool.query(`create or replace function public.now() returns timestamptz language sql stable
    as $$ select timestamptz '${instant}' $$`);
}
