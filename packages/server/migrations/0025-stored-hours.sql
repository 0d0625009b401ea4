-- How many records came in by hour and by day, and how much was hot and cold on each day: for the page OVERVIEW, which
-- would otherwise have to read records.
-- The previous release survives this migration: what it stores is not counted here.

-- Records by the hour in which they were stored. A part adds to it after all other counters, in the order of the tenants:
-- whoever adds for a tenant has its row of leaf_tenants locked, so that nobody waits here who did not wait there.
-- The tenant '' has the sums of all tenants for the hours that are over, so that their chart reads a row for each hour.
create table stored_hours (
  tenant text collate "C" not null,
  hour timestamptz not null,
  count bigint not null,
  bytes bigint not null,
  constraint stored_hours_pkey primary key (tenant, hour)
) with (fillfactor = 50);
-- to sum and to forget by
create index stored_hours_hour_idx on stored_hours (hour);

-- The same by day, and what was hot and cold at its end. A row is written once, when its day is over; '' has the sums.
create table stored_days (
  tenant text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  -- null for a day at whose end nobody looked
  hot_count bigint,
  hot_bytes bigint,
  cold_count bigint,
  cold_bytes bigint,
  constraint stored_days_pkey primary key (tenant, day)
);
-- to find the tenants that sent most by, and to forget by
create index stored_days_day_idx on stored_days (day, count desc, tenant);

-- Endpoints that fail, so that looking for them costs nothing where all is well. They are few, and change rarely.
create index webhook_endpoints_trouble_idx on webhook_endpoints (tenant, id)
  where deleted_at is null and (paused_until is not null or failures_in_row > 0 or disabled_reason = 'gone');
