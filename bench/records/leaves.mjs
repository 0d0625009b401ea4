/** The names of made-up tenants and stores. */
export const tenantName = (i) => `tenant-${String(i).padStart(3, '0')}`;
export const storeName = (i) => `store-${String(i).padStart(4, '0')}`;

/**
 * Fills the counters with made-up leaves: tenants × stores × months, no records behind them. Rows lie in
 * the order in which time would have brought them, not in key order. Every tenth tenant has its days too,
 * unless `hasDays` is false.
 */
export async function generateLeaves(db, { tenants, stores, months, hasDays = true }) {
  await db.query(
    `insert into leaf_months (tenant, store, month, count, bytes, digest, first_at, last_at)
    select tenant, store, to_char(start, 'YYYY-MM'), count, count * 420,
      mod(hash::numeric + 18446744073709551616, 18446744073709551616), start,
      start + interval '27 days 23:59:59.5'
    from (
      select 'tenant-' || lpad(t::text, 3, '0') as tenant, 'store-' || lpad(s::text, 4, '0') as store,
        timestamptz '2025-01-01' + make_interval(months => m) as start,
        28 * (1 + (t * 31 + s * 17 + m * 7) % 150) as count,
        hashtextextended(t || '/' || s || '/' || m, 0) as hash
      from generate_series(0, $3::int - 1) m, generate_series(0, $1::int - 1) t,
        generate_series(0, $2::int - 1) s
      order by m, t, s
    ) leaf`,
    [tenants, stores, months],
  );
  if (hasDays) await generateDays(db);
  const sums = `sum(count), sum(bytes), mod(sum(digest), 18446744073709551616), min(first_at), max(last_at)`;
  await db.query(`insert into leaf_stores (tenant, store, count, bytes, digest, first_at, last_at)
    select tenant, store, ${sums} from leaf_months group by tenant, store`);
  await db.query(`insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at)
    select tenant, ${sums} from leaf_stores group by tenant`);
  await db.query(`insert into tenant_days (tenant, day, count, bytes, digest, first_at, last_at)
    select tenant, start::date, sum(count) / 28, sum(bytes) / 28,
      mod(sum(digest), 18446744073709551616), start, start + interval '23:59:59'
    from leaf_months
    cross join generate_series(0, 27) number
    cross join lateral (select first_at + make_interval(days => number) as start) day
    group by tenant, start`);
  await db.query(`insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at)
    select tenant, month, ${sums} from leaf_months group by tenant, month`);
  await db.query(
    'vacuum (analyze) leaf_days, leaf_months, leaf_stores, tenant_days, tenant_months, leaf_tenants',
  );
}

async function generateDays(db) {
  await db.query(`insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
    select tenant, store, start::date, count / 28, bytes / 28, digest, start,
      start + interval '23:59:59'
    from generate_series(0, 27) number
    cross join leaf_months
    cross join lateral (select first_at + make_interval(days => number) as start) day
    where tenant like '%0'
    order by day.start, tenant, store`);
}
