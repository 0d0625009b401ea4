-- The token that database and store of cold data both hold, so that of two copies of a database one writes.
-- The previous release survives this migration: it takes no token, so do not let copies of a database of
-- that release near one store.

create table store_fence (
  singleton boolean not null default true,
  -- the one that the store has taken; null before the first
  confirmed text,
  -- those of which it is not known whether it took them, the latest first
  pending text[] not null default '{}',
  -- changes with the others
  version bigint not null default 0,
  constraint store_fence_pkey primary key (singleton),
  constraint store_fence_singleton_check check (singleton)
);
insert into store_fence default values;
