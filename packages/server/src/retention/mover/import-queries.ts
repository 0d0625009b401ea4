import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import {
  type DayTriple,
  type SegmentDay,
  type StoreDay,
  sumTriples,
} from '../../records/segments.ts';

/** Lists those of these days of stores that hold records, and what they hold, by the counters. */
export async function listHeldDays(
  db: Queryable,
  tenant: string,
  days: readonly StoreDay[],
): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select counter.store, counter.day::text as day, counter.count, counter.bytes, counter.digest::text as digest
    from ${givenRows('asked', days, { store: 'text', day: 'date' })}
    join leaf_days counter on counter.tenant = ${tenant} and counter.store = asked.store
      and counter.day = asked.day and counter.count > 0
    order by counter.day, counter.store`);
}

/** Returns the time by the database's clock, spelled as in answers. */
export async function readClock(db: Queryable): Promise<string> {
  const [row] = await db.query<{ at: string }>(
    sql`select ${instantText('clock_timestamp()')} as at`,
  );
  return row?.at ?? '';
}

/** Whether what the tenant had at some moment was pinned at this time or later, by an export, a version or a schedule. */
export async function isPinnedSince(db: Queryable, tenant: string, at: string): Promise<boolean> {
  const rows = await db.query(sql`
    select 1 as one from exports where tenant = ${tenant} and recorded_before >= ${at}::timestamptz
    union all
    select 1 from dataset_versions where tenant = ${tenant} and recorded_before >= ${at}::timestamptz
    union all
    select 1 from export_schedules where tenant = ${tenant} and delivered_before >= ${at}::timestamptz
    limit 1`);
  return rows.length > 0;
}

/** Whether export jobs of the tenant are under way, whose slices were pinned. */
export async function hasOpenExports(db: Queryable, tenant: string): Promise<boolean> {
  const rows = await db.query(sql`
    select id from exports where tenant = ${tenant} and state in ('queued', 'running') limit 1`);
  return rows.length > 0;
}

/** Tells tails and the counters of hours of records that were stored at a time, and are counted in all others. */
export async function noteStored(
  connection: Connection,
  tenant: string,
  { recordedAt, days }: { recordedAt: string; days: readonly SegmentDay[] },
): Promise<void> {
  const types = { store: 'text', day: 'date', first_at: 'timestamptz', last_at: 'timestamptz' };
  const { count, bytes } = sumTriples(days);
  await connection.query(sql`
    with counted as (
      update leaf_tenants set stored_at = greatest(next_instant(stored_at), clock_timestamp())
      where tenant = ${tenant} returning stored_at
    )
    insert into stored_parts (tenant, stored_at, store, day, recorded_at, first_at, last_at, count)
    select ${tenant}, counted.stored_at, store, day, ${recordedAt}::timestamptz, first_at, last_at, count
    from counted cross join ${givenRows('given', days, { ...types, count: 'bigint' })}`);
  await connection.query(sql`
    insert into stored_hours as counter (tenant, hour, count, bytes)
    values (${tenant}, date_trunc('hour', now(), 'UTC'), ${count}, ${bytes})
    on conflict (tenant, hour) do update set
      count = counter.count + excluded.count, bytes = counter.bytes + excluded.bytes`);
}
