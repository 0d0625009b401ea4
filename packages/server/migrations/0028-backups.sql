-- Backups that were made of this database, and the restore that made it.
-- The previous release survives this migration: it makes no backups.

-- One row for each run of `svcctl backup`, so that others can tell how old the last good one is.
create table backups (
  id text collate "C" not null,
  -- where it lies, for people to read
  place text not null,
  is_incremental boolean not null,
  started_at timestamptz not null default now(),
  -- the moment that the backup shows
  taken_at timestamptz,
  -- null while it runs, and after a kill until the next run
  finished_at timestamptz,
  records bigint,
  -- all that the backup needs, and how much of it this run has written
  size_bytes bigint,
  new_bytes bigint,
  -- when all of it was last read back and found right
  verified_at timestamptz,
  error_code text collate "C",
  error text,
  constraint backups_pkey primary key (id)
);
-- to find the last good one by
create index backups_taken_at_idx on backups (taken_at) where finished_at is not null and error_code is null;

-- The backup out of which this database was restored. While finished_at is null no service starts on it.
create table restores (
  backup_id text collate "C" not null,
  place text not null,
  taken_at timestamptz not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint restores_pkey primary key (backup_id)
);

-- The files of the backup that are loaded: a restore that was killed goes on behind them.
create table restored_files (
  path text collate "C" not null,
  constraint restored_files_pkey primary key (path)
);
