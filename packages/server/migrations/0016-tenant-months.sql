-- Counters of a tenant's months.
-- The previous release does not survive this migration once it writes: it does not keep tenant_months.

-- They tell a tenant's row of one month, and the coverage of windows of whole months. A page of 500 tenants summed a
-- counter for each store, or for each tagged day.
create table tenant_months (
  tenant text collate "C" not null,
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint tenant_months_pkey primary key (tenant, month)
);
insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at,
  cold_count, cold_bytes, cold_stored_bytes)
select tenant, to_char(day, 'YYYY-MM'), sum(count), sum(bytes), mod(sum(digest), 18446744073709551616),
  min(first_at), max(last_at), sum(cold_count), sum(cold_bytes), sum(cold_stored_bytes)
from tenant_days group by 1, 2;
create index tenant_months_month_idx on tenant_months (month, tenant);
