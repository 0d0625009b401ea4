import sql, { raw } from 'sql-template-tag';
import { tenantFolder } from '../../../records/segments.ts';
import type { TestMover } from './test-mover.ts';

/** All counters of a tenant, without their cold share: what no move ever changes. */
export async function totals({ db }: TestMover, tenant: string) {
  const columns = sql`count, bytes, digest, first_at, last_at`;
  return {
    days: await db.query(
      sql`select store, day, ${columns} from leaf_days where tenant = ${tenant} order by 1, 2`,
    ),
    months: await db.query(
      sql`select store, month, ${columns} from leaf_months where tenant = ${tenant} order by 1, 2`,
    ),
    stores: await db.query(
      sql`select store, ${columns} from leaf_stores where tenant = ${tenant} order by 1`,
    ),
    tenantDays: await db.query(
      sql`select day, ${columns} from tenant_days where tenant = ${tenant} order by 1`,
    ),
    tenantMonths: await db.query(
      sql`select month, ${columns} from tenant_months where tenant = ${tenant} order by 1`,
    ),
    tenants: await db.query(sql`select ${columns} from leaf_tenants where tenant = ${tenant}`),
  };
}

/** What differs between a tenant's counters and its records in both tiers; nothing if all is well. */
export async function differences(mover: TestMover, tenant: string): Promise<unknown[]> {
  const { db, duckdb, store } = mover;
  const found: unknown[] = [];
  const hot = await db.query(sql`
    select coalesce(c.store, h.store) as store, coalesce(c.day, h.day) as day, c.count, c.cold_count,
      h.count as hot_count
    from (select * from leaf_days where tenant = ${tenant}) c full join (
      select store, (occurred_at at time zone 'UTC')::date as day, count(*) as count, sum(bytes) as bytes,
        mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616) as digest
      from enrichment_records where tenant = ${tenant} group by 1, 2
    ) h on h.store = c.store and h.day = c.day
    where (c.count - c.cold_count, c.bytes - c.cold_bytes,
        mod(c.digest - c.cold_digest + 18446744073709551616, 18446744073709551616))
      is distinct from (coalesce(h.count, 0), coalesce(h.bytes, 0), coalesce(h.digest, 0))`);
  found.push(...hot);
  const catalogue = await db.query(sql`
    select c.store, c.day, c.cold_count, s.count from (
      select * from leaf_days where tenant = ${tenant}) c full join (
      select store, day, sum(count) as count, sum(bytes) as bytes, sum(stored_bytes) as stored_bytes,
        mod(sum(digest), 18446744073709551616) as digest
      from segment_days where tenant = ${tenant} group by 1, 2
    ) s on s.store = c.store and s.day = c.day
    where (c.cold_count, c.cold_bytes, c.cold_digest, c.cold_stored_bytes) is distinct from
      (coalesce(s.count, 0), coalesce(s.bytes, 0), coalesce(s.digest, 0), coalesce(s.stored_bytes, 0))`);
  found.push(...catalogue);
  found.push(
    ...(await db.query(sql`
      select t.tenant, t.cold_count, d.* from leaf_tenants t cross join (
        select sum(cold_count) as count, sum(cold_bytes) as bytes, sum(cold_stored_bytes) as stored_bytes
        from leaf_days where tenant = ${tenant}) d
      cross join (select sum(cold_count) as count, sum(cold_stored_bytes) as stored_bytes
        from leaf_months where tenant = ${tenant}) m
      cross join (select sum(cold_count) as count, sum(cold_stored_bytes) as stored_bytes
        from leaf_stores where tenant = ${tenant}) s
      cross join (select coalesce(sum(size_bytes), 0) as stored_bytes
        from segments where tenant = ${tenant}) o
      where t.tenant = ${tenant} and (
        (t.cold_count, t.cold_bytes, t.cold_stored_bytes) is distinct from (d.count, d.bytes, d.stored_bytes)
        or (t.cold_count, t.cold_stored_bytes) is distinct from (m.count, m.stored_bytes)
        or (t.cold_count, t.cold_stored_bytes) is distinct from (s.count, s.stored_bytes)
        or t.cold_stored_bytes <> o.stored_bytes)`)),
  );
  for (const [table, column, of] of [
    ['tenant_days', 'day', 'day'],
    ['tenant_months', 'month', "to_char(day, 'YYYY-MM')"],
  ] as const) {
    const key = raw(column);
    const sums = await db.query(sql`
      select coalesce(t.${key}, d.${key}) as period, t.count, t.cold_count, d.count as day_count
      from (select * from ${raw(table)} where tenant = ${tenant}) t full join (
        select ${raw(of)} as ${key}, sum(count) as count, sum(bytes) as bytes, mod(sum(digest), 18446744073709551616) as digest,
          min(first_at) as first_at, max(last_at) as last_at, sum(cold_count) as cold_count,
          sum(cold_bytes) as cold_bytes, sum(cold_stored_bytes) as cold_stored_bytes
        from leaf_days where tenant = ${tenant} group by 1
      ) d on d.${key} = t.${key}
      where (t.count, t.bytes, t.digest, t.first_at, t.last_at, t.cold_count, t.cold_bytes, t.cold_stored_bytes)
        is distinct from (d.count, d.bytes, d.digest, d.first_at, d.last_at, d.cold_count, d.cold_bytes,
          d.cold_stored_bytes)`);
    found.push(...sums);
  }
  const segments = await db.query<{ object_key: string; count: number }>(
    sql`select object_key, count from segments where tenant = ${tenant}`,
  );
  for (const { object_key, count } of segments) {
    const path = store.pathOf(object_key) ?? '';
    const rows = await duckdb.run(`select count(*) as count from '${path.replaceAll("'", "''")}'`);
    if (Number(rows[0]?.count) !== count) found.push({ object_key, count, rows });
  }
  return found;
}

/** How many records of a tenant are hot, by the table. */
export async function hotCount({ db }: TestMover, tenant: string): Promise<number | undefined> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) as count from enrichment_records where tenant = ${tenant}`,
  );
  return rows[0]?.count;
}

/** Keys of all objects in the store. */
export async function objectKeys({ store }: TestMover): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys.sort();
}

export async function journal({ db }: TestMover, tenant: string) {
  return db.query(sql`
    select kind, state, first_day, last_day, source_count, object_count, failed_in, error_code from moves
    where tenant = ${tenant} order by planned_at, id`);
}

export async function objectKeysOf(mover: TestMover, tenant: string): Promise<string[]> {
  return (await objectKeys(mover)).filter((key) => key.includes(`${tenantFolder(tenant)}/`));
}

/** Whatever an act on a tenant's records changes. */
export async function stateOf(mover: TestMover, tenant: string): Promise<unknown[]> {
  return [
    await totals(mover, tenant),
    await journal(mover, tenant),
    await objectKeysOf(mover, tenant),
  ];
}
