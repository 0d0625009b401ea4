-- What became of attempts, hour by hour: for charts and for the share that succeeds, which would otherwise have to read
-- the deliveries of days.
-- The previous release survives this migration: what its drainers deliver is not counted here.

-- Counts change no indexed column, so that a row is rewritten in place (HOT) while there is room on its page.
create table endpoint_hours (
  lane smallint not null,
  endpoint_id text collate "C" not null,
  hour timestamptz not null,
  -- attempts that delivered
  delivered bigint not null,
  -- attempts that failed, after which the delivery is tried again
  failed bigint not null,
  -- deliveries that were given up
  abandoned bigint not null,
  constraint endpoint_hours_pkey primary key (lane, endpoint_id, hour)
) with (fillfactor = 70);
-- to forget by
create index endpoint_hours_hour_idx on endpoint_hours (hour);

-- The same of all endpoints, so that their totals are a few rows for each hour, however many endpoints there are. Each
-- transaction counts under one of its lanes: drainers have different ones, and so never wait for each other here.
create table delivery_hours (
  hour timestamptz not null,
  lane smallint not null,
  delivered bigint not null,
  failed bigint not null,
  abandoned bigint not null,
  constraint delivery_hours_pkey primary key (hour, lane)
) with (fillfactor = 30);
