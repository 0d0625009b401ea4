import { auditLocally } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../platform/log.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { type Recounted, recount } from '../retention/index.ts';
import { withOwnDatabase } from './database.ts';

/** Makes counters anew that are not what they count, in the database of the settings, also while a service runs on it. */
export async function recountRecords(
  settings: Settings,
  log: Log,
  options: { tenant: string | null; isDry: boolean; signal: AbortSignal },
): Promise<Recounted> {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    return recount(db, { ...options, audit: auditLocally });
  });
}
