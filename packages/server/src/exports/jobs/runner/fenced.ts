import type { Connection, Database } from '../../../platform/postgres/database.ts';
import { JobLost } from './faults.ts';
import { type Held, lockHeld } from './queries.ts';

/** Writes while the job is still this runner’s. Throws `JobLost` when it is not. */
export async function whileHeld<T>(
  db: Database,
  held: Held,
  write: (connection: Connection) => Promise<T>,
): Promise<T> {
  return db.transaction(async (connection) => {
    if (!(await lockHeld(connection, held))) throw new JobLost('the job is not held any more');
    return write(connection);
  });
}
