-- Whether a day of a store has hot records, as a column of its own.
-- The previous release survives this migration; its movers look at all days of a tenant to find the hot ones.

-- PostgreSQL rewrites a row in place (HOT) only if no index names a column that changes. The two indexes named the
-- count, which every record that is stored changes, so each one made three entries in indexes.
drop index leaf_days_hot_idx;
drop index leaf_days_cold_idx;
alter table leaf_days
  add column has_hot boolean not null generated always as (count > cold_count) stored;
create index leaf_days_hot_idx on leaf_days (tenant, day) where has_hot;
create index leaf_days_cold_idx on leaf_days (tenant, day) where not has_hot;
