import type { Database } from '../../platform/postgres/database.ts';
import { attachPartition, listPartitions, lockPartitions } from './queries.ts';

/** Sees to it that the months a part touches have their partitions. */
export type Partitions = {
  /** `months` as `YYYY-MM`. */
  ensure(months: Iterable<string>): Promise<void>;
};

export function createPartitions(db: Database): Partitions {
  /** Partitions are never dropped while months are written to, so what was seen once is there. */
  const known = new Set<string>();
  return {
    async ensure(months) {
      const missing = [...months].filter((month) => !known.has(partitionName(month)));
      if (missing.length === 0) return;
      for (const name of await listPartitions(db)) known.add(name);
      for (const month of missing.sort()) {
        if (!known.has(partitionName(month))) await make(db, month);
        known.add(partitionName(month));
      }
    },
  };
}

/** Each month in a transaction of its own: no lock outlives its 3 ms. */
async function make(db: Database, month: string): Promise<void> {
  const name = partitionName(month);
  await db.transaction(async (connection) => {
    await lockPartitions(connection);
    if ((await listPartitions(connection)).includes(name)) return;
    const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1));
    const until = next.toISOString().slice(0, 7);
    await attachPartition(connection, name, `${month}-01T00:00:00Z`, `${until}-01T00:00:00Z`);
  });
}

function partitionName(month: string): string {
  return `enrichment_records_${month.replace('-', '_')}`;
}
