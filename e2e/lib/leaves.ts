import { withPostgres } from './postgres.ts';

export type LeafShape = {
  tenants: number;
  stores: number;
  /** Of each store of the first `deep` tenants; the others' stores have one month. */
  months: number;
  deep: number;
};

/**
 * Fills the counters with made-up leaves, no records behind them. Names begin with all letters in turn:
 * tenants `A00`, `B01`, …, stores `A0000`, `B0001`, …, months from 2001-01 on.
 */
export async function seedLeaves(url: string, shape: LeafShape): Promise<void> {
  const { tenants, stores, months, deep } = shape;
  await withPostgres(url, async (client) => {
    await client.query(
      `insert into leaf_months (tenant, store, month, count, bytes, digest, first_at, last_at)
      select chr(65 + t % 26) || lpad(t::text, 2, '0'), chr(65 + s % 26) || lpad(s::text, 4, '0'),
        to_char(start, 'YYYY-MM'), 10, 4200, 1, start, start + interval '27 days'
      from generate_series(0, $1::int - 1) t, generate_series(0, $2::int - 1) s,
        generate_series(0, case when t < $4 then $3::int - 1 else 0 end) m,
        lateral (select timestamptz '2001-01-01Z' + make_interval(months => m) as start) month`,
      [tenants, stores, months, deep],
    );
    const sums = 'sum(count), sum(bytes), sum(digest), min(first_at), max(last_at)';
    await client.query(`insert into leaf_stores (tenant, store, count, bytes, digest, first_at, last_at)
      select tenant, store, ${sums} from leaf_months group by tenant, store`);
    await client.query(`insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at)
      select tenant, ${sums} from leaf_stores group by tenant`);
    await client.query(`insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at)
      select tenant, month, ${sums} from leaf_months group by tenant, month`);
    await client.query('vacuum (analyze) leaf_months, leaf_stores, tenant_months, leaf_tenants');
  });
}
