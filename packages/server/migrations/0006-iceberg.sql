-- The previous release survives this migration: it neither reads nor writes these tables.

------------------------------------------------------------------------------------------- the cold tier as a table

-- What readers of Iceberg were told of the catalogue, for each set of tenants that somebody asked for: `all`, or a hash of
-- their names. The id is the moment, in microseconds since 1970.
create table iceberg_snapshots (
  scope text collate "C" not null,
  id bigint not null,
  -- that of the one before; 0 for the first
  parent_id bigint not null,
  manifest_list text collate "C" not null,
  summary json not null,
  -- until when the objects of one that was followed by another are kept
  readable_until timestamptz,
  asked_at timestamptz not null default now(),
  constraint iceberg_snapshots_pkey primary key (scope, id),
  -- Of two processes that make the next one at the same time, one begins anew.
  constraint iceberg_snapshots_parent_key unique (scope, parent_id)
);

-- The manifests, each with all segments of a tenant, from one snapshot to before another.
create table iceberg_manifests (
  scope text collate "C" not null,
  tenant text collate "C" not null,
  snapshot_id bigint not null,
  until_id bigint,
  object_key text collate "C" not null,
  size_bytes bigint not null,
  -- the oldest snapshot that added one of its files
  oldest_id bigint not null,
  -- of the ids of the segments; empty when there are none
  fingerprint text not null,
  -- the segments, and since which snapshot each is there
  files json not null,
  -- how many files and records were added, stayed and were deleted
  counts json not null,
  constraint iceberg_manifests_pkey primary key (scope, tenant, snapshot_id)
);
-- to know whose an object is
create index iceberg_manifests_key_idx on iceberg_manifests (object_key);
