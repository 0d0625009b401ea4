import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import * as queries from './queries.ts';

/**
 * Sums up the hours and days that are over, and forgets those that are older than what is shown. Ingest counts by tenant
 * alone: a row of all tenants would make all writers wait for each other. Several processes may call it; one does it.
 */
export async function sumStored(db: Database): Promise<void> {
  await db.transaction(async (connection) => {
    if (!(await queries.tryLockSums(connection))) return;
    const { live_from: liveFrom } = await queries.findTimes(connection);
    await queries.sumHours(connection, { liveFrom });
    const days = await queries.findDueDays(connection);
    if (days === undefined) return;
    await queries.sumDays(connection, days);
    await queries.forgetStored(connection);
  });
}

const everyMillis = 60_000;

/** Does so every minute until stopped. */
export function startSumming(db: Database, { log }: { log: Log }): Repeated {
  return repeat(() => sumStored(db), {
    everyMillis,
    onError: (error) => log.warn({ err: error }, 'what was stored could not be summed up'),
  });
}
