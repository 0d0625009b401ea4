import sql, { type Sql } from 'sql-template-tag';
import type { Database } from '../src/platform/postgres/database.ts';

/** Holds what a statement changes or locks, in a transaction that the answered function commits. */
export async function hold(db: Database, statement: Sql): Promise<() => Promise<void>> {
  const session = await db.openSession();
  await session.query(sql`begin`);
  await session.query(statement);
  return async () => {
    await session.query(sql`commit`);
    await session.close();
  };
}
