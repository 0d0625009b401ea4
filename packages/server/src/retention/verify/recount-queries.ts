import sql, { raw } from 'sql-template-tag';
import type { Connection } from '../../platform/postgres/database.ts';

/**
 * Keeps all who change counters away until the transaction ends. Each of them changes those of days, so this lock is
 * enough; whoever only reads goes on.
 */
export async function lockDayCounters(connection: Connection): Promise<void> {
  await connection.query(sql`lock table leaf_days in exclusive mode`);
}

/** Makes the counters of these days of a tenant anew, from its hot records and the catalogue. */
export async function recountDays(
  connection: Connection,
  tenant: string,
  { first, last }: { first: string; last: string },
): Promise<void> {
  const days = sql`tenant = ${tenant} and day between ${first}::date and ${last}::date`;
  await connection.query(sql`delete from leaf_days where ${days}`);
  await connection.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at, cold_count, cold_bytes,
      cold_digest, cold_stored_bytes)
    select tenant, store, day, sum(count), sum(bytes),
      mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616),
      min(first_at), max(last_at), coalesce(sum(count) filter (where is_cold), 0),
      coalesce(sum(bytes) filter (where is_cold), 0),
      mod(coalesce(sum(digest) filter (where is_cold), 0), 18446744073709551616), sum(stored_bytes)
    from (
      select tenant, store, (occurred_at at time zone 'UTC')::date as day, count(*) as count, sum(bytes) as bytes,
        sum(digest) as digest, min(occurred_at) as first_at, max(occurred_at) as last_at, false as is_cold,
        0 as stored_bytes
      from enrichment_records
      where tenant = ${tenant} and occurred_at >= ${first}::date::timestamptz
        and occurred_at < (${last}::date + 1)::timestamptz
      group by 1, 2, 3
      union all
      select tenant, store, day, count, bytes, digest, first_at, last_at, true, stored_bytes
      from segment_days where ${days}
    ) held group by tenant, store, day`);
}

/** The counters that are sums of those of days: the table, its key, and what that is of a day. */
const sums = [
  ['leaf_months', 'tenant, store, month', "tenant, store, to_char(day, 'YYYY-MM')"],
  ['leaf_stores', 'tenant, store', 'tenant, store'],
  ['tenant_days', 'tenant, day', 'tenant, day'],
  ['tenant_months', 'tenant, month', "tenant, to_char(day, 'YYYY-MM')"],
  ['leaf_tenants', 'tenant', 'tenant'],
] as const;

/** Makes all other counters of a tenant anew, from those of its days. */
export async function recountSums(connection: Connection, tenant: string): Promise<void> {
  for (const [table, key, ofDay] of sums) {
    await connection.query(sql`delete from ${raw(table)} where tenant = ${tenant}`);
    await connection.query(sql`
      insert into ${raw(table)} (${raw(key)}, count, bytes, digest, first_at, last_at, cold_count, cold_bytes,
        cold_stored_bytes)
      select ${raw(ofDay)}, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616), min(first_at),
        max(last_at), sum(cold_count), sum(cold_bytes), sum(cold_stored_bytes)
      from leaf_days where tenant = ${tenant} group by ${raw(ofDay)}`);
  }
}
