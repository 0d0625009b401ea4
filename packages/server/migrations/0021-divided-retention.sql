-- What is due of a tenant, shares of runs and verifications, and when something was last found right.
-- The previous release survives this migration: it does runs and verifications alone, under locks that keep out those
-- who divide them.

-- The plan of retention reads only those days of a tenant that are due, however many became cold before. As a column of
-- its own it changes only when a day becomes hot or cold, so that records that are stored rewrite the row in place (HOT).
alter table tenant_days
  add column has_hot boolean not null generated always as (count > cold_count) stored;
create index tenant_days_hot_idx on tenant_days (tenant, day) where has_hot;

-- Shares of work that several processes divide: the tenants of a run, stretches of segments of a verification.
create table work_shares (
  job text collate "C" not null,
  number integer not null,
  -- what is to be done
  work json not null,
  -- of the process that took it last
  mark text collate "C",
  constraint work_shares_pkey primary key (job, number)
);
alter table retention_runs add column is_divided boolean not null default false;
alter table verifications
  add column since timestamptz,
  add column sample_percent double precision,
  add column is_divided boolean not null default false;

alter table segments add column verified_at timestamptz;
create table verified_tenants (
  tenant text collate "C" not null,
  verified_at timestamptz not null,
  constraint verified_tenants_pkey primary key (tenant)
);
