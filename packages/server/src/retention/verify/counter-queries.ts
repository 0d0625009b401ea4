import sql, { raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { type CounterTable, counterKeys } from '../../records/segments.ts';

/** The first tenant after `after`, up to `last`, with records, counters or segments; undefined at the end. */
export async function findNextTenant(
  db: Queryable,
  { after, last }: { after: string | null; last: string | null },
): Promise<string | undefined> {
  // Each part is one look into an index. A tenant without counters is found by its records.
  const rows = await db.query<{ tenant: string | null }>(sql`
    select min(tenant collate "C") as tenant from (
      (select tenant from leaf_tenants where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from leaf_stores where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from leaf_months where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from tenant_days where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from tenant_months where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from leaf_days where tenant > ${after ?? ''} order by tenant limit 1)
      union all (select tenant from segment_days where tenant > ${after ?? ''} order by tenant limit 1)
      union all
        (select tenant from enrichment_records where tenant > ${after ?? ''} order by tenant limit 1)
    ) candidates where ${last}::text is null or tenant <= ${last}`);
  return rows[0]?.tenant ?? undefined;
}

/** A month of which a tenant has counters, segments or hot records. */
export type Month = {
  /** The month as `YYYY-MM`. */
  month: string;
  /** The number of hot records, by the counters. */
  hot_count: number;
};

export async function listMonths(db: Queryable, tenant: string): Promise<Month[]> {
  return db.query<Month>(sql`
    select month, sum(hot_count)::bigint as hot_count from (
      select to_char(day, 'YYYY-MM') as month, count - cold_count as hot_count
      from leaf_days where tenant = ${tenant}
      union all
      select to_char(day, 'YYYY-MM'), 0 from segment_days where tenant = ${tenant}
      union all
      select to_char(first_day, 'YYYY-MM'), 0 from (
        select to_date(right(c.relname, 7), 'YYYY_MM') as first_day
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'enrichment_records'::regclass
      ) partitions
      cross join lateral (
        select 1 from enrichment_records r
        where r.tenant = ${tenant} and r.occurred_at >= first_day::timestamptz
          and r.occurred_at < (first_day + interval '1 month')::timestamptz
        limit 1
      ) found
    ) months group by month order by month`);
}

/** Some days of some tenants, by chance: of each tenant its newest day first. Days with too many hot records are left out. */
export async function sampleDays(
  db: Queryable,
  { tenants, days, hotRecords }: { tenants: number; days: number; hotRecords: number },
): Promise<{ tenant: string; day: string }[]> {
  const chosen = await db.query<{ tenant: string }>(
    sql`select tenant from leaf_tenants order by random() limit ${tenants}::int`,
  );
  const rows: { tenant: string; day: string }[] = [];
  for (const { tenant } of chosen) {
    rows.push(
      ...(await db.query<{ tenant: string; day: string }>(sql`
        select tenant, day::text as day from (
          select tenant, day, row_number() over (order by day desc) = 1 as is_newest from tenant_days
          where tenant = ${tenant} and count - cold_count <= ${hotRecords}::bigint
        ) days order by is_newest desc, random() limit ${days}::int`)),
    );
  }
  return rows;
}

/** A counter that differs from what it counts. */
export type WrongCounter = {
  tenant: string;
  /** `all` means both tiers together. */
  tier: 'hot' | 'cold' | 'all';
  store: string | null;
  /** `YYYY-MM-DD` or `YYYY-MM`; null at levels without a period. */
  period: string | null;
  counted_count: number;
  counted_bytes: number;
  /** The digest as decimal text. */
  counted_digest: string;
  counted_stored_bytes: number;
  found_count: number;
  found_bytes: number;
  found_digest: string;
  found_stored_bytes: number;
  /** How many wrong counters there are in all, including those beyond the limit. */
  faults: number;
};

/** Days that follow one another, both ends included. */
export type Stretch = { readonly first: string; readonly last: string };

/** Lists the days of tenants, in this range or all of them, whose counters differ from the hot records or the catalogue. */
export async function listWrongDays(
  db: Queryable,
  tenants: readonly string[],
  range: Stretch | null,
  limit: number,
): Promise<WrongCounter[]> {
  const which = ofTenants(tenants);
  if (range === null) return listDifferences(db, daysAndSources(which, which), limit);
  const { first, last } = range;
  const days = sql`${which} and day between ${first}::date and ${last}::date`;
  const hot = sql`${which} and occurred_at >= ${first}::date::timestamptz
    and occurred_at < (${last}::date + 1)::timestamptz`;
  return listDifferences(db, daysAndSources(days, hot), limit);
}

/** Of one tenant PostgreSQL knows better how many rows to expect than of an array. */
function ofTenants(tenants: readonly string[]): Sql {
  return tenants.length === 1
    ? sql`tenant = ${tenants[0]}`
    : sql`tenant = any(${[...tenants]}::text[])`;
}

/** The counters of these days, and the hot records and the days of segments that they count. */
function daysAndSources(days: Sql, hot: Sql): Sql {
  return sql`
    select tenant, 'hot' as tier, store, day::text as period, true as is_counted,
      count - cold_count as count, bytes - cold_bytes as bytes, digest - cold_digest as digest,
      0 as stored_bytes
    from leaf_days where ${days}
    union all
    select tenant, 'cold', store, day::text, true, cold_count, cold_bytes, cold_digest, cold_stored_bytes
    from leaf_days where ${days}
    union all
    select tenant, 'hot', store, (occurred_at at time zone 'UTC')::date::text, false, count(*), sum(bytes),
      sum(digest), 0
    from enrichment_records where ${hot} group by 1, 3, 4
    union all
    select tenant, 'cold', store, day::text, false, sum(count), sum(bytes), sum(digest), sum(stored_bytes)
    from segment_days where ${days} group by tenant, store, day`;
}

/** The counters that are sums of those of days. */
export const summedTables = (Object.keys(counterKeys) as CounterTable[]).filter(
  (table) => table !== 'leaf_days',
);

/** Lists the counters of a table (not `leaf_days`) that are not the sums of the days of the tenants' stores. */
export async function listWrongSums(
  db: Queryable,
  tenants: readonly string[],
  name: CounterTable,
  limit: number,
): Promise<WrongCounter[]> {
  return listDifferences(db, sumsAndDays(name, ofTenants(tenants)), limit);
}

/** The counters of a table, and those of the days that they sum up. */
function sumsAndDays(name: CounterTable, which: Sql): Sql {
  const key: readonly string[] = counterKeys[name];
  const table = raw(name);
  const store = key.includes('store') ? 'store' : 'null::text';
  const pick = (month: string) =>
    key.includes('day') ? 'day::text' : key.includes('month') ? month : 'null::text';
  const stored = raw(`${store} as store, ${pick('month')} as period`);
  const summed = raw(`${store}, ${pick(monthOfDay)}`);
  return sql`
    select tenant, 'all' as tier, ${stored}, true as is_counted, count, bytes, digest, 0 as stored_bytes
    from ${table} where ${which}
    union all
    select tenant, 'cold', ${stored}, true, cold_count, cold_bytes, 0, cold_stored_bytes
    from ${table} where ${which}
    union all
    select tenant, 'all', ${summed}, false, sum(count), sum(bytes), sum(digest), 0
    from leaf_days where ${which} group by 1, 3, 4
    union all
    select tenant, 'cold', ${summed}, false, sum(cold_count), sum(cold_bytes), 0, sum(cold_stored_bytes)
    from leaf_days where ${which} group by 1, 3, 4`;
}

const monthOfDay = "to_char(day, 'YYYY-MM')";

/** Compares counters with what they count, given as rows of both sides, and lists those that differ. */
async function listDifferences(
  db: Queryable,
  sources: Sql,
  limit: number,
): Promise<WrongCounter[]> {
  return db.query<WrongCounter>(sql`
    select tenant, tier, store, period, counted_count::bigint, counted_bytes::bigint,
      counted_digest::text, counted_stored_bytes::bigint, found_count::bigint, found_bytes::bigint,
      found_digest::text, found_stored_bytes::bigint, count(*) over () as faults
    from (
      select tenant, tier, store, period,
        ${totalOf('count', 'is_counted')} as counted_count,
        ${totalOf('bytes', 'is_counted')} as counted_bytes,
        ${unsigned(totalOf('digest', 'is_counted'))} as counted_digest,
        ${totalOf('stored_bytes', 'is_counted')} as counted_stored_bytes,
        ${totalOf('count', 'not is_counted')} as found_count,
        ${totalOf('bytes', 'not is_counted')} as found_bytes,
        ${unsigned(totalOf('digest', 'not is_counted'))} as found_digest,
        ${totalOf('stored_bytes', 'not is_counted')} as found_stored_bytes
      from (${sources}) sources
      group by tenant, tier, store, period
    ) compared
    where (counted_count, counted_bytes, counted_digest, counted_stored_bytes)
      <> (found_count, found_bytes, found_digest, found_stored_bytes)
    order by tenant, period, store, tier limit ${limit}`);
}

/** Lists those of these tenants that have no more than so many hot records and counters of days. */
export async function listSmallTenants(
  db: Queryable,
  tenants: readonly string[],
  atMost: number,
): Promise<string[]> {
  const which = sql`tenant = any(${tenants}::text[])`;
  const rows = await db.query<{ tenant: string }>(sql`
    select tenant from (
      select tenant, count(*) + sum(count - cold_count) as rows from leaf_days where ${which} group by tenant
      union all
      select tenant, count(*) from segment_days where ${which} group by tenant
    ) held group by tenant having sum(rows) <= ${atMost}::bigint`);
  return rows.map(({ tenant }) => tenant);
}

function totalOf(column: string, which: string): Sql {
  return raw(`coalesce(sum(${column}) filter (where ${which}), 0)`);
}

/** Brings a digest into 0 … 2^64 − 1: digests are sums mod 2^64, and those of single records are signed. */
function unsigned(sum: Sql): Sql {
  return sql`mod(mod(${sum}, 18446744073709551616) + 18446744073709551616, 18446744073709551616)`;
}

/** Days in the catalogue whose segment is not in it. */
export type DanglingDays = {
  tenant: string;
  segment_id: string;
  first_day: string;
  last_day: string;
  count: number;
  /** How many segments have such days in all, including those beyond the limit. */
  faults: number;
};

export async function listDanglingDays(
  db: Queryable,
  tenants: readonly string[],
  limit: number,
): Promise<DanglingDays[]> {
  return db.query<DanglingDays>(sql`
    select tenant, segment_id, min(day) as first_day, max(day) as last_day, sum(count)::bigint as count,
      count(*) over () as faults
    from segment_days d
    where ${ofTenants(tenants)} and not exists (
      select 1 from segments s where s.tenant = d.tenant and s.id = d.segment_id
    )
    group by tenant, segment_id order by tenant, segment_id limit ${limit}`);
}

/** Keeps all who change counters away until the transaction ends: all change those of days. Readers go on. */
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
    select tenant, store, day, sum(count), sum(bytes), ${unsigned(raw('sum(digest)'))},
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

/** Makes all other counters of a tenant anew, from those of its days. */
export async function recountSums(connection: Connection, tenant: string): Promise<void> {
  for (const table of summedTables) {
    const key = counterKeys[table];
    const ofDay = raw(key.map((column) => (column === 'month' ? monthOfDay : column)).join(', '));
    await connection.query(sql`delete from ${raw(table)} where tenant = ${tenant}`);
    await connection.query(sql`
      insert into ${raw(table)} (${raw(key.join(', '))}, count, bytes, digest, first_at, last_at, cold_count,
        cold_bytes, cold_stored_bytes)
      select ${ofDay}, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616), min(first_at),
        max(last_at), sum(cold_count), sum(cold_bytes), sum(cold_stored_bytes)
      from leaf_days where tenant = ${tenant} group by ${ofDay}`);
  }
  // What is stored next must come after what tails have told.
  await connection.query(sql`
    update leaf_tenants set stored_at = (select max(stored_at) from stored_parts where tenant = ${tenant})
    where tenant = ${tenant}`);
}
