import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { Part } from './part.ts';
import * as queries from './queries.ts';
import { rollUp } from './roll-up.ts';

export type PartOutcome = {
  accepted: number;
  duplicates: number;
  /** Positions in the request of records that are stored with other content. */
  conflicts: number[];
};

/**
 * Stores a part: records and counters in one transaction, durable when it returns. Idempotent, so that
 * a part whose fate is unknown (the connection broke during commit) is simply sent again.
 */
export async function storePart(db: Database, part: Part): Promise<PartOutcome> {
  return db.transaction(async (connection) => {
    if (!(await queries.hasStage(connection))) await queries.createStage(connection);
    await queries.fillStage(connection, part.copyText());
    const days = await queries.insertNew(connection);
    const accepted = days.reduce((sum, day) => sum + day.count, 0);
    const conflicts = accepted === part.count ? [] : await queries.listConflicts(connection);
    if (accepted > 0) await count(connection, days);
    return {
      accepted,
      duplicates: part.count - accepted - conflicts.length,
      conflicts: conflicts.map((ordinal) => part.indexes[ordinal] ?? -1),
    };
  });
}

/** The counters come last: their rows are shared by all writers and locked until the commit. */
async function count(connection: Connection, days: queries.Delta[]): Promise<void> {
  const { months, stores, tenants } = rollUp(days);
  await queries.addToCounters(connection, 'leaf_days', days);
  await queries.addToCounters(connection, 'leaf_months', months);
  await queries.addToCounters(connection, 'leaf_stores', stores);
  await queries.addToCounters(connection, 'leaf_tenants', tenants);
}
