import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';

/** The counters of one store’s day, of which a share is cold. */
export type SeededDay = {
  tenant: string;
  store?: string;
  /** Days before today, by the database's clock. */
  age: number;
  count: number;
  cold?: number;
};

/** A record of these counters has so many bytes. */
export const recordBytes = 100;

/** Puts counters of days in place, and their sums per tenant, as ingest and moves would have. */
export async function seedDays(db: Queryable, days: readonly SeededDay[]): Promise<void> {
  await db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at, cold_count,
      cold_bytes)
    select tenant, store, day, count, count * ${recordBytes}, 0, day + interval '1 hour',
      day + interval '2 hours', cold, cold * ${recordBytes}
    from (
      select tenant, store, (now() at time zone 'UTC')::date - age as day, count, cold
      from unnest(${days.map((day) => day.tenant)}::text[], ${days.map((day) => day.store ?? 's')}::text[],
        ${days.map((day) => day.age)}::int[], ${days.map((day) => day.count)}::bigint[],
        ${days.map((day) => day.cold ?? 0)}::bigint[]) as seeded(tenant, store, age, count, cold)
    ) seeded`);
  await sumDays(db);
}

/** Sums the counters of days of stores up again, by day of a tenant and by tenant. */
export async function sumDays(db: Queryable): Promise<void> {
  for (const [table, key] of [
    ['tenant_days', 'tenant, day'],
    ['leaf_tenants', 'tenant'],
  ] as const) {
    await db.query(sql`delete from ${raw(table)}`);
    await db.query(sql`
      insert into ${raw(table)} (${raw(key)}, count, bytes, digest, first_at, last_at, cold_count, cold_bytes)
      select ${raw(key)}, sum(count), sum(bytes), 0, min(first_at), max(last_at), sum(cold_count),
        sum(cold_bytes)
      from leaf_days group by ${raw(key)}`);
  }
}

export type SeededPolicy = {
  tenant: string;
  hotDays: number;
  deleteDays?: number | null;
  hold?: boolean;
};

export async function seedPolicy(db: Queryable, policy: SeededPolicy): Promise<void> {
  await db.query(sql`
    insert into retention_policies (tenant, hot_days, delete_days, hold)
    values (${policy.tenant}, ${policy.hotDays}, ${policy.deleteDays ?? null}, ${policy.hold ?? false})
    on conflict (tenant) do update set hot_days = excluded.hot_days,
      delete_days = excluded.delete_days, hold = excluded.hold`);
}

/** A version with one window of all stores. */
export type SeededVersion = {
  tenant: string;
  name: string;
  /** Ages of its first and last day. */
  firstAge: number;
  lastAge: number;
};

export async function seedVersion(db: Queryable, version: SeededVersion): Promise<void> {
  const { tenant, name, firstAge, lastAge } = version;
  await db.query(sql`
    insert into dataset_versions (tenant, id, dataset, name, slices, tags, recorded_before, count, bytes,
      digest, parts, created_by)
    values (${tenant}, ${`ver_${name}`}, 'training', ${name}, '[]', '{}', now(), 0, 0, 0, '[]', 'test')`);
  await db.query(sql`
    insert into dataset_version_windows (tenant, version_id, ordinal, first_day, until)
    values (${tenant}, ${`ver_${name}`}, 1, (now() at time zone 'UTC')::date - ${firstAge}::int,
      (now() at time zone 'UTC')::date - ${lastAge}::int + 1)`);
}

export async function clearRetention(db: Queryable): Promise<void> {
  await db.query(sql`truncate leaf_days, tenant_days, leaf_tenants, retention_policies, retention_runs, moves,
    move_segments, segments, audit_log, dataset_versions, dataset_version_windows`);
  await seedPolicy(db, { tenant: '*', hotDays: 3 });
}

/** The calendar date so many days before today, by the database's clock. */
export async function dayOfAge(db: Queryable, age: number): Promise<string> {
  const rows = await db.query<{ day: string }>(
    sql`select (now() at time zone 'UTC')::date - ${age}::int as day`,
  );
  return rows[0]?.day ?? '';
}
