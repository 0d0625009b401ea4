import type { Queryable } from '../../platform/postgres/database.ts';
import { eraseAnswers, erasePayloads, lockIncidents } from '../queries.ts';
import { discardAll } from './queries.ts';
import type { RowWork } from './walk-rows.ts';

/** Whether nothing of a tenant may be erased, which another feature knows. */
export type IsOnHold = (db: Queryable, tenant: string) => Promise<boolean>;

/** A purge in bulk: rows are discarded as one by one, apart from those of tenants under legal hold. */
export function purgeRows(isOnHold: IsOnHold): RowWork {
  return {
    wakes: false,
    async doRows(db, rows, job) {
      const held = await findHeld(
        db,
        rows.map((row) => row.tenant),
        isOnHold,
      );
      const picked = rows.filter((row) => !held.includes(row.tenant));
      await lockIncidents(db, incidentsOf(picked));
      const { failed_until: failedUntil, id: jobId } = job;
      const gone = await discardAll(db, picked, { failedUntil, jobId });
      await eraseOf(db, gone);
      return gone.map(({ endpoint_id }) => ({ endpoint_id, count: 1 }));
    },
  };
}

export async function findHeld(
  db: Queryable,
  tenants: readonly string[],
  isOnHold: IsOnHold,
): Promise<string[]> {
  const held: string[] = [];
  for (const tenant of new Set(tenants)) {
    if (await isOnHold(db, tenant)) held.push(tenant);
  }
  return held;
}

type Gone = { readonly lane: number; readonly id: string; readonly incident_id: string };

/** Removes the answers of discarded deliveries, and payloads that no other needs. Their incidents must be locked. */
export async function eraseOf(db: Queryable, rows: readonly Gone[]): Promise<void> {
  if (rows.length === 0) return;
  await eraseAnswers(db, { deliveries: rows });
  await erasePayloads(db, incidentsOf(rows), { unlessNeeded: true });
}

function incidentsOf(rows: readonly Pick<Gone, 'incident_id'>[]): string[] {
  return [...new Set(rows.map((row) => row.incident_id))];
}
