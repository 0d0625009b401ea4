import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { dayConditions, where } from '../slice/queries.ts';
import type { KeyRange, Slice } from '../slice/slice.ts';

/**
 * Until the end of the transaction nobody pins a slice of these tenants. In one order, so that two
 * writers and two who pin cannot wait for each other in a circle.
 */
export async function lockPins(connection: Connection, tenants: readonly string[]): Promise<void> {
  await connection.query(sql`
    select pg_advisory_xact_lock_shared(${advisoryLocks.pins}, hashtext(tenant))
    from (select tenant from unnest(${[...tenants]}::text[]) as own(tenant)
      order by hashtext(tenant)) ordered`);
}

/**
 * Until the end of the transaction nobody who pins is between his snapshot and what he writes of it: who
 * lets records of the tenant go finds that, or is found.
 */
export async function lockRemovals(connection: Connection, tenant: string): Promise<void> {
  await connection.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.removals}, hashtext(${tenant}))`,
  );
}

/** Until `letRecordsGo` no record of the tenant is erased or deleted. */
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
 * Begins a transaction whose snapshot has all that is stored of the tenant by a time, which it answers:
 * whatever comes later is recorded after it. Waits for what is being stored, and keeps the next from
 * beginning for as long as it takes to take the snapshot. The lock is the session's, because a transaction
 * would hold it to its end.
 */
export async function beginSnapshot(connection: Connection, tenant: string): Promise<string> {
  await connection.query(sql`select pg_advisory_lock(${advisoryLocks.pins}, hashtext(${tenant}))`);
  await connection.client.query('begin isolation level repeatable read read only');
  // The first statement takes the snapshot.
  const rows = await connection.query<{ at: string }>(
    sql`select ${instantText('clock_timestamp()')} as at`,
  );
  await connection.query(
    sql`select pg_advisory_unlock(${advisoryLocks.pins}, hashtext(${tenant}))`,
  );
  return rows[0]?.at ?? '';
}

export async function endSnapshot(connection: Connection): Promise<void> {
  await connection.client.query('commit');
}

/** On a connection that is lent already. What `work` throws ends the connection, and undoes it so. */
export async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.client.query('begin isolation level read committed');
  const result = await work();
  await connection.client.query('commit');
  return result;
}

/**
 * Cuts a slice into stretches of the key order, by the counters: each of at most so many records or
 * bytes, or half of both, and a store-day more.
 */
export async function listPinnedParts(
  db: Queryable,
  slice: Slice,
  size: { rows: number; bytes: number },
): Promise<KeyRange[]> {
  const rows = await db.query<{
    first_store: string;
    first_day: string;
    last_store: string;
    last_day: string;
    min_day: string;
    max_day: string;
  }>(sql`
    with own as (
      select store, day, floor(
        (sum(count) over near - count) / ${size.rows}::numeric
        + (sum(bytes) over near - bytes) / ${size.bytes}::numeric
      ) as part
      from leaf_days ${where(dayConditions(slice))}
      window near as (order by store, day)
    )
    select (array_agg(store order by store, day))[1] as first_store,
      (array_agg(day order by store, day))[1]::text as first_day,
      (array_agg(store order by store desc, day desc))[1] as last_store,
      (array_agg(day order by store desc, day desc))[1]::text as last_day,
      min(day)::text as min_day, max(day)::text as max_day
    from own group by part order by part`);
  return rows.map((row) => ({
    first: { store: row.first_store, day: row.first_day },
    last: { store: row.last_store, day: row.last_day },
    minDay: row.min_day,
    maxDay: row.max_day,
  }));
}
