-- The previous release survives this migration: it reads the audit log as before, and writes one more index.

-- The entries that concern several tenants, by each of these. They are few, so what waits to be sorted in is not kept apart:
-- each search would read all of that.
create index audit_log_tenants_idx on audit_log using gin (tenants) with (fastupdate = off) where tenants is not null;
