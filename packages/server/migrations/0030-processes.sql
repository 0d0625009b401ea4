-- The processes that run. Each says every ten seconds that it lives: for `svcctl ps` and `svcctl doctor`.
-- The previous release survives this migration: its processes are not listed.

-- A process adds its row once the database is ready, and removes it when it stops. One that was killed, or is frozen,
-- leaves it behind with an old seen_at.
create table processes (
  id text collate "C" not null,
  host text not null,
  pid integer not null,
  version text not null,
  node text not null,
  roles text[] not null,
  -- where it listens; null for one that does not
  url text,
  -- those of its settings that all processes on a database should share, by the name of the variable; nothing secret
  settings jsonb not null,
  since timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- how far its clock is ahead of the database's; null until it was compared
  clock_ahead_millis bigint,
  -- the disk with its data folder
  disk_free_bytes bigint,
  disk_total_bytes bigint,
  -- how the store of cold data stands to this database, as this process sees it
  store_state text,
  constraint processes_pkey primary key (id)
  -- A heartbeat changes no indexed column, so it leaves the index alone (HOT) as long as its page has room.
) with (fillfactor = 50);
