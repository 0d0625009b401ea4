import sql, { raw, type Sql } from 'sql-template-tag';
import { commit } from '../../platform/postgres/client.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { StoreDay } from '../segments/segment.ts';
import { fromDays, rangeOfDays } from '../slice/queries.ts';
import type { KeyRange, Slice } from '../slice/slice.ts';

/**
 * Keeps others from pinning until the commit. Returns the time in microseconds that all new records get: who pins has
 * seen them, or has an earlier time.
 */
export async function lockPins(
  connection: Connection,
  tenants: readonly string[],
): Promise<number> {
  const rows = await connection.query<{ micros: number }>(
    sql`select (extract(epoch from ${timeWithPinsLocked(tenants)}) * 1000000)::bigint as micros`,
  );
  return rows[0]?.micros ?? 0;
}

/**
 * The same as an expression. Tenants share the locks of 256 buckets, as four streams of 10,000 tenants filled
 * PostgreSQL's table, in the order of their numbers, so that none wait in a circle. One tenant takes half as long
 * without sorting.
 */
export function timeWithPinsLocked(tenants: readonly string[]): Sql {
  const locked =
    tenants.length === 1
      ? sql`select pg_advisory_xact_lock_shared(${bucketLock(sql`${tenants[0]}::text`)})::text offset 0`
      : sql`select count(pg_advisory_xact_lock_shared(lock, number)::text) from (
          select distinct ${bucketLock(sql`tenant`)} from unnest(${[...tenants]}::text[]) as own(tenant)
          order by 2) as ordered(lock, number)`;
  return sql`(select clock_timestamp() from (${locked}) locked)`;
}

/** The two numbers of the lock that a tenant shares with the others of its bucket. */
const bucketLock = (tenant: Sql) =>
  sql`${raw(String(advisoryLocks.pins))}, hashtext(${tenant}) & 255`;

/**
 * Waits until nobody is between the snapshot of a pin and what is written of it, and keeps it so until the end of the
 * transaction. Whoever removes records of the tenant therefore sees what was pinned, or is seen by who pins later.
 */
export async function lockRemovals(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.removals}, hashtext(${tenant}))`,
  );
}

/** Keeps the records of the tenant from being erased or deleted until `letRecordsGo`. */
export async function keepRecords(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_lock_shared(${advisoryLocks.removals}, hashtext(${tenant}))`,
  );
}

export async function letRecordsGo(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_unlock_shared(${advisoryLocks.removals}, hashtext(${tenant}))`,
  );
}

/**
 * Begins a transaction that sees all that is stored before a time, which it returns. It waits for what is being stored,
 * and holds up the next only while the snapshot is taken: by a lock of the session, not of the transaction.
 */
export async function beginSnapshot(connection: Connection, tenant: string): Promise<string> {
  const ownLock = bucketLock(sql`${tenant}`);
  await connection.query(sql`select pg_advisory_lock(${ownLock})`);
  await connection.client.query('begin isolation level repeatable read read only');
  // The first statement of the transaction takes the snapshot, also on the server of a cluster that has the tenant.
  await connection.query(sql`select 1 from leaf_tenants where tenant = ${tenant}`);
  const rows = await connection.query<{ at: string }>(
    sql`select ${instantText('clock_timestamp()')} as at`,
  );
  await connection.query(sql`select pg_advisory_unlock(${ownLock})`);
  return rows[0]?.at ?? '';
}

export async function endSnapshot(connection: Connection): Promise<void> {
  await connection.client.query('commit');
}

/** Runs a transaction on a lent connection. If `work` throws, the connection is closed, which undoes it. */
export async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.client.query('begin isolation level read committed');
  const result = await work();
  await commit(connection.client);
  return result;
}

/** A part so large that its own costs do not matter, and so small that a kill wastes little work. */
export const usualPart = { rows: 250_000, bytes: 96 * 1024 * 1024 };

/**
 * Cuts a slice by its counters into stretches of whole store-days, of so many records or bytes, or half of both, and up
 * to one day more; of what is new each in one month, lest a few late records have all days between read. What arrives
 * later may fall between two: cut before it can, or pin the slice.
 */
export async function cutParts(db: Queryable, slice: Slice, size = usualPart): Promise<KeyRange[]> {
  const month = raw(slice.recordedFrom === undefined ? 'null::date' : `date_trunc('month', day)`);
  const rows = await db.query<{ range: KeyRange }>(sql`
    with own as (
      select store, day, ${month} as month, floor(
        (sum(count) over near - count) / ${size.rows}::numeric
        + (sum(bytes) over near - bytes) / ${size.bytes}::numeric
      ) as part
      ${fromDays('leaf_days', slice, mayBeNew(slice))}
      window near as (partition by ${month} order by store, day)
    )
    select ${rangeOfDays} as range from own group by month, part order by month, part`);
  return rows.map(({ range }) => range);
}

/** At most so many store-days are looked at for a stretch, and it has so many records or bytes, and one store-day more. */
export type StretchSize = { readonly rows: number; readonly bytes: number; readonly days: number };

/** Returns the next store-days of a slice after one, by the counters. `isMore` says whether others follow. */
export async function findStretch(
  db: Queryable,
  slice: Slice,
  { after, size }: { after: StoreDay | null; size: StretchSize },
): Promise<{ range: KeyRange; count: number; isMore: boolean } | undefined> {
  const beyond =
    after === null ? [] : [sql`(store, day) > (${after.store}::text, ${after.day}::date)`];
  const rows = await db.query<{ store: string; day: string; count: number; is_more: boolean }>(sql`
    with near as (
      select store, day, count, bytes ${fromDays('leaf_days', slice, beyond)}
      order by store, day limit ${size.days + 1}
    ), own as (
      select *, sum(count) over before - count as rows_before, sum(bytes) over before - bytes as bytes_before,
        row_number() over before as place
      from near window before as (order by store, day)
    )
    select store, day::text as day, count, (select max(place) from own) > place as is_more
    from own
    where rows_before < ${size.rows} and bytes_before < ${size.bytes} and place <= ${size.days}
    order by store, day`);
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const days = rows.map(({ day }) => day).sort();
  return {
    range: {
      first: { store: first.store, day: first.day },
      last: { store: last.store, day: last.day },
      minDay: days[0] ?? first.day,
      maxDay: days.at(-1) ?? last.day,
    },
    count: rows.reduce((sum, { count }) => sum + count, 0),
    isMore: last.is_more,
  };
}

/**
 * Days that may have records stored since `recordedFrom`: hot ones, or in segments written since, or an hour before it,
 * for a clock that was set back a little.
 */
function mayBeNew({ tenant, recordedFrom }: Slice): Sql[] {
  if (recordedFrom === undefined) return [];
  return [
    sql`(store, day) in (
      select store, day from leaf_days where tenant = ${tenant} and has_hot
      union all
      select d.store, d.day from segments s
      join segment_days d on d.tenant = s.tenant and d.segment_id = s.id
      where s.tenant = ${tenant} and s.created_at >= ${recordedFrom}::timestamptz - interval '1 hour')`,
  ];
}
