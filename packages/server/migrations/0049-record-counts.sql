-- The previous release survives this migration: it neither reads nor writes this table.

-- Counts of records that are read for it, stretch by stretch.
create table record_counts (
  tenant text collate "C" not null,
  id text collate "C" not null,
  -- queued, running, paused, completed, failed, cancelled; one that is running and has an error waits
  state text collate "C" not null default 'queued',
  -- as it was asked for
  request json not null,
  -- pinned: it means the same records at every stretch
  slice json not null,
  -- records of its days in all, by the counters
  total bigint not null,
  -- the last store-day that was read
  after_store text collate "C",
  after_day date,
  looked bigint not null default 0,
  count bigint not null default 0,
  bytes bigint not null default 0,
  error text,
  requested_by text not null,
  token_id text collate "C" not null,
  requested_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  -- counts take turns: the one that was read least lately is next
  worked_at timestamptz,
  not_before timestamptz,
  constraint record_counts_pkey primary key (id)
);
create index record_counts_requested_at_idx on record_counts (requested_at, id);
create index record_counts_open_idx on record_counts (tenant) where finished_at is null;
