-- The previous release survives this migration: it goes on to ingest, but a tail is not told of what it stores.

-- The time of the last part of the tenant. Whoever stores a part moves it on while it holds the row until its commit, so
-- these times have the order of the commits. Null until the first part after this migration.
alter table leaf_tenants add column stored_at timestamptz;

-- The next time there is. The sum is the same in every zone, though PostgreSQL holds sums with an interval for dependent on
-- it, and Citus takes only what is immutable where a row changes on conflict.
create function next_instant(at timestamptz) returns timestamptz
  language sql immutable strict parallel safe
  return at + interval '1 microsecond';

-- What a part stored of a day of a store: by these rows a tail finds, in the order of the commits, the records between
-- first_at and last_at that have this recorded_at. They are forgotten after a day.
create table stored_parts (
  tenant text collate "C" not null,
  stored_at timestamptz not null,
  store text collate "C" not null,
  day date not null,
  recorded_at timestamptz not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  count bigint not null,
  constraint stored_parts_pkey primary key (tenant, stored_at, store, day),
  -- Two parts of the same microsecond could not be told apart: the later one is stored again, at another time.
  constraint stored_parts_recorded_key unique (tenant, recorded_at, store, day)
);
-- to forget by
create index stored_parts_stored_at_idx on stored_parts using brin (stored_at);
