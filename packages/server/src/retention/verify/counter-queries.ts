import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';

/**
 * Finds the first tenant after `after`, up to `last`, that has anything: records, counters or segments; undefined at the
 * end.
 */
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

/** Lists the days in this range whose counters differ from the hot records or the catalogue. */
export async function listWrongDays(
  db: Queryable,
  tenant: string,
  { first, last }: { first: string; last: string },
  limit: number,
): Promise<WrongCounter[]> {
  const days = sql`tenant = ${tenant} and day between ${first}::date and ${last}::date`;
  return listDifferences(
    db,
    sql`
      select 'hot' as tier, store, day::text as period, true as is_counted, count - cold_count as count,
        bytes - cold_bytes as bytes, digest - cold_digest as digest, 0 as stored_bytes
      from leaf_days where ${days}
      union all
      select 'cold', store, day::text, true, cold_count, cold_bytes, cold_digest, cold_stored_bytes
      from leaf_days where ${days}
      union all
      select 'hot', store, (occurred_at at time zone 'UTC')::date::text, false, count(*), sum(bytes),
        sum(digest), 0
      from enrichment_records
      where tenant = ${tenant} and occurred_at >= ${first}::date::timestamptz
        and occurred_at < (${last}::date + 1)::timestamptz
      group by 2, 3
      union all
      select 'cold', store, day::text, false, sum(count), sum(bytes), sum(digest), sum(stored_bytes)
      from segment_days where ${days} group by store, day`,
    limit,
  );
}

/**
 * Lists the counters of a level (months, stores, a tenant's days or months, or the tenant) that are not the sums of its
 * stores' days.
 */
export async function listWrongSums(
  db: Queryable,
  tenant: string,
  level: SummedLevel,
  limit: number,
): Promise<WrongCounter[]> {
  const { table, stored, summed } = levels[level];
  return listDifferences(
    db,
    sql`
      select 'all' as tier, ${stored}, true as is_counted, count, bytes, digest, 0 as stored_bytes
      from ${table} where tenant = ${tenant}
      union all
      select 'cold', ${stored}, true, cold_count, cold_bytes, 0, cold_stored_bytes
      from ${table} where tenant = ${tenant}
      union all
      select 'all', ${summed}, false, sum(count), sum(bytes), sum(digest), 0
      from leaf_days where tenant = ${tenant} group by 2, 3
      union all
      select 'cold', ${summed}, false, sum(cold_count), sum(cold_bytes), 0, sum(cold_stored_bytes)
      from leaf_days where tenant = ${tenant} group by 2, 3`,
    limit,
  );
}

export type SummedLevel = 'months' | 'stores' | 'tenantDays' | 'tenantMonths' | 'tenants';

const levels = {
  months: {
    table: raw('leaf_months'),
    stored: raw('store, month as period'),
    summed: raw("store, to_char(day, 'YYYY-MM')"),
  },
  stores: {
    table: raw('leaf_stores'),
    stored: raw('store, null::text as period'),
    summed: raw('store, null::text'),
  },
  tenantDays: {
    table: raw('tenant_days'),
    stored: raw('null::text as store, day::text as period'),
    summed: raw('null::text, day::text'),
  },
  tenantMonths: {
    table: raw('tenant_months'),
    stored: raw('null::text as store, month as period'),
    summed: raw("null::text, to_char(day, 'YYYY-MM')"),
  },
  tenants: {
    table: raw('leaf_tenants'),
    stored: raw('null::text as store, null::text as period'),
    summed: raw('null::text, null::text'),
  },
} as const satisfies Record<SummedLevel, unknown>;

/** Compares counters with what they count, given as rows of both sides, and lists those that differ. */
async function listDifferences(
  db: Queryable,
  sources: Sql,
  limit: number,
): Promise<WrongCounter[]> {
  return db.query<WrongCounter>(sql`
    select tier, store, period, counted_count::bigint, counted_bytes::bigint,
      counted_digest::text, counted_stored_bytes::bigint, found_count::bigint, found_bytes::bigint,
      found_digest::text, found_stored_bytes::bigint, count(*) over () as faults
    from (
      select tier, store, period,
        ${totalOf('count', 'is_counted')} as counted_count,
        ${totalOf('bytes', 'is_counted')} as counted_bytes,
        ${unsigned(totalOf('digest', 'is_counted'))} as counted_digest,
        ${totalOf('stored_bytes', 'is_counted')} as counted_stored_bytes,
        ${totalOf('count', 'not is_counted')} as found_count,
        ${totalOf('bytes', 'not is_counted')} as found_bytes,
        ${unsigned(totalOf('digest', 'not is_counted'))} as found_digest,
        ${totalOf('stored_bytes', 'not is_counted')} as found_stored_bytes
      from (${sources}) sources
      group by tier, store, period
    ) compared
    where (counted_count, counted_bytes, counted_digest, counted_stored_bytes)
      <> (found_count, found_bytes, found_digest, found_stored_bytes)
    order by period, store, tier limit ${limit}`);
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
  segment_id: string;
  first_day: string;
  last_day: string;
  count: number;
};

export async function listDanglingDays(
  db: Queryable,
  tenant: string,
  limit: number,
): Promise<DanglingDays[]> {
  return db.query<DanglingDays>(sql`
    select segment_id, min(day) as first_day, max(day) as last_day, sum(count)::bigint as count
    from segment_days d
    where tenant = ${tenant} and not exists (
      select 1 from segments s where s.tenant = d.tenant and s.id = d.segment_id
    )
    group by segment_id order by segment_id limit ${limit}`);
}
