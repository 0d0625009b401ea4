-- The previous release survives this migration: it neither reads nor writes this table.

-- Imports of files, which a command drives. What they store is counted in the transactions that store it.
create table record_imports (
  id text collate "C" not null,
  -- of the files, how they are read, and the tenants that are reached
  digest text collate "C" not null,
  -- running, completed, cancelled; one that is running and silent is told as paused
  state text collate "C" not null default 'running',
  -- the only one that is reached
  tenant text collate "C",
  -- those that are reached; null means all
  tenants text[],
  requested_by text not null,
  token_id text collate "C" not null,
  requested_at timestamptz not null default now(),
  finished_at timestamptz,
  -- when the command was last heard of, and the code of the error with which it stopped
  heard_at timestamptz not null default now(),
  stopped text,
  files integer not null,
  -- rows of all files; null when the command does not know
  total bigint,
  -- all rows before this one are answered, and counted in the next five
  at_file integer not null default 0,
  at_row bigint not null default 0,
  rows bigint not null default 0,
  sent bigint not null default 0,
  taken bigint not null default 0,
  rejected bigint not null default 0,
  conflicts bigint not null default 0,
  -- records that were new: by ingest, and straight into segments
  stored bigint not null default 0,
  cold bigint not null default 0,
  cold_days integer not null default 0,
  constraint record_imports_pkey primary key (id)
);
create unique index record_imports_open_idx on record_imports (digest) where finished_at is null;
create index record_imports_requested_at_idx on record_imports (requested_at, id);
