import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { TenantOutcome } from '../../mover/move-tenant.ts';
import type { Movers, TenantJob } from '../do-run.ts';

/** What the work on a tenant answers that finds nothing to do. */
export const nothingDone: TenantOutcome = {
  movedCount: 0,
  movedBytes: 0,
  deletedCount: 0,
  failedMoves: 0,
  isBusy: false,
};

type FakeMovers = Movers & {
  /** What was asked for: `move T1 2026-03-16`. */
  readonly calls: string[];
  /** At work at the same time, at most. */
  readonly mostAtOnce: () => number;
};

/** Stands for the movers: changes the counters as a move or a deletion would, and nothing else. */
export function createFakeMovers(
  db: Queryable,
  /** Called before the counters change; may throw, or wait. */
  interfere: (job: TenantJob, kind: 'move' | 'delete') => Promise<void> | void = () => {},
): FakeMovers {
  const calls: string[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  async function work<T>(kind: 'move' | 'delete', job: TenantJob, done: () => Promise<T>) {
    calls.push(`${kind} ${job.tenant} ${job.lastDay}`);
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    try {
      await interfere(job, kind);
      return await done();
    } finally {
      atOnce -= 1;
    }
  }
  return {
    calls,
    mostAtOnce: () => mostAtOnce,
    moveTenant: (job) =>
      work('move', job, async () => {
        const { count, bytes } = await makeCold(db, job);
        return { ...nothingDone, movedCount: count, movedBytes: bytes };
      }),
    deleteTenant: (job) =>
      work('delete', job, async () => ({
        ...nothingDone,
        deletedCount: await deleteDays(db, job),
      })),
    giveBackSpace: async () => 0,
  };
}

async function makeCold(db: Queryable, { tenant, lastDay }: TenantJob) {
  const rows = await db.query<{ count: number; bytes: number }>(sql`
    with hot as (
      select tenant, store, day, count - cold_count as count, bytes - cold_bytes as bytes from leaf_days
      where tenant = ${tenant} and day <= ${lastDay}::date for update
    ), moved as (
      update leaf_days d set cold_count = d.count, cold_bytes = d.bytes from hot
      where (d.tenant, d.store, d.day) = (hot.tenant, hot.store, hot.day)
      returning hot.count, hot.bytes
    ), summed as (
      select coalesce(sum(count), 0)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes from moved
    ), of_days as (
      update tenant_days set cold_count = count, cold_bytes = bytes
      where tenant = ${tenant} and day <= ${lastDay}::date
    ), counted as (
      update leaf_tenants set cold_count = cold_count + summed.count from summed where tenant = ${tenant}
    )
    select count, bytes from summed`);
  return rows[0] ?? { count: 0, bytes: 0 };
}

async function deleteDays(db: Queryable, { tenant, lastDay }: TenantJob): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from leaf_days where tenant = ${tenant} and day <= ${lastDay}::date
      returning count, cold_count
    ), summed as (
      select coalesce(sum(count), 0)::bigint as count, coalesce(sum(cold_count), 0)::bigint as cold_count
      from gone
    ), of_days as (
      delete from tenant_days where tenant = ${tenant} and day <= ${lastDay}::date
    ), counted as (
      update leaf_tenants t set count = t.count - summed.count, cold_count = t.cold_count - summed.cold_count
      from summed where tenant = ${tenant}
    )
    select count from summed`);
  return rows[0]?.count ?? 0;
}
