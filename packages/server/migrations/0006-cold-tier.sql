-- The cold tier: which segments hold which days, and the journal of what moved, merged or went.
-- The previous release survives this migration as long as nothing is moved: it knows one tier only.

-- The share of each counter that lies in segments; the rest is hot. A day's cold digest changes with its
-- cold records: who checked late records against them sees by it that they are others by now.
alter table leaf_days
  add column cold_count bigint not null default 0,
  add column cold_bytes bigint not null default 0,
  add column cold_digest numeric(20, 0) not null default 0,
  add column cold_stored_bytes bigint not null default 0;
alter table leaf_months
  add column cold_count bigint not null default 0,
  add column cold_bytes bigint not null default 0,
  add column cold_stored_bytes bigint not null default 0;
alter table leaf_stores
  add column cold_count bigint not null default 0,
  add column cold_bytes bigint not null default 0,
  add column cold_stored_bytes bigint not null default 0;
alter table leaf_tenants
  add column cold_count bigint not null default 0,
  add column cold_bytes bigint not null default 0,
  add column cold_stored_bytes bigint not null default 0;
-- The days that have hot records: what a mover looks for.
create index leaf_days_hot_idx on leaf_days (tenant, day) where count > cold_count;

-- The live segments: Parquet objects, each of one tenant, sorted by store, occurred_at, event_id.
create table segments (
  tenant text collate "C" not null,
  id text collate "C" not null,
  -- below the blob URL
  object_key text collate "C" not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  -- of its records
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_day date not null,
  last_day date not null,
  created_at timestamptz not null default now(),
  constraint segments_pkey primary key (tenant, id),
  constraint segments_object_key_key unique (tenant, object_key)
);

-- Where in a segment the records of a store's day stand, and their triple.
create table segment_days (
  tenant text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  segment_id text collate "C" not null,
  -- its rows stand together, from this row of the object on, counted from 0
  first_row bigint not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  -- its share of the object's size; the shares of a segment add up to it
  stored_bytes bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint segment_days_pkey primary key (tenant, store, day, segment_id)
);
create index segment_days_segment_idx on segment_days (tenant, segment_id);

-- '*' = the default of all tenants without a policy of their own.
create table retention_policies (
  tenant text collate "C" not null,
  hot_days integer not null,
  -- null: never
  delete_days integer,
  hold boolean not null default false,
  updated_at timestamptz not null default now(),
  -- name of the token; null: as installed
  updated_by text,
  constraint retention_policies_pkey primary key (tenant),
  constraint retention_policies_days_check check (hot_days >= 0 and delete_days >= 1)
);
insert into retention_policies (tenant, hot_days) values ('*', 3);

-- What an operator or the schedule asked for.
create table retention_runs (
  id text collate "C" not null,
  -- queued, running, completed, failed
  state text collate "C" not null default 'queued',
  -- null: all tenants that the run's author may touch
  tenant text collate "C",
  tenants text[] collate "C",
  -- only days before this one; null: all that the policies let
  before date,
  -- name of the token; null: the schedule
  requested_by text,
  -- the schedule's minute, so that many processes make one run of it
  scheduled_for timestamptz,
  requested_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  -- records that it found to move or delete
  total_count bigint,
  moved_count bigint not null default 0,
  moved_bytes bigint not null default 0,
  deleted_count bigint not null default 0,
  -- moves that failed, and tenants passed over because another mover held them
  failed_moves integer not null default 0,
  busy_tenants integer not null default 0,
  error text,
  constraint retention_runs_pkey primary key (id),
  constraint retention_runs_scheduled_for_key unique (scheduled_for)
);
create index retention_runs_open_idx on retention_runs (requested_at)
  where state in ('queued', 'running');

-- The journal: planned → copied → verified → switched → removed, or failed.
create table moves (
  tenant text collate "C" not null,
  id text collate "C" not null,
  run_id text collate "C",
  -- move: hot days into segments. compact: segments into fewer. delete: whole days by policy. erase: by request.
  kind text collate "C" not null,
  state text collate "C" not null default 'planned',
  first_day date not null,
  last_day date not null,
  -- erase: {store, event_ids, from, to}
  request json,
  -- what is to arrive in the new segments, from the source
  source_count bigint,
  source_bytes bigint,
  source_digest numeric(20, 0),
  -- what the written objects hold, read back and computed from content
  object_count bigint,
  object_bytes bigint,
  object_digest numeric(20, 0),
  -- what goes for good (delete, erase)
  gone_count bigint not null default 0,
  gone_bytes bigint not null default 0,
  gone_digest numeric(20, 0) not null default 0,
  -- size of the new objects
  stored_bytes bigint,
  planned_at timestamptz not null default now(),
  copied_at timestamptz,
  verified_at timestamptz,
  switched_at timestamptz,
  removed_at timestamptz,
  failed_at timestamptz,
  -- the state it failed in, a stable code, and what to do
  failed_in text collate "C",
  error_code text collate "C",
  error text,
  -- of the process that works on it: another one takes over by changing it
  runner text collate "C" not null,
  constraint moves_pkey primary key (tenant, id)
);
create index moves_id_idx on moves (id);
create index moves_planned_at_idx on moves (planned_at, id);
create index moves_tenant_planned_at_idx on moves (tenant, planned_at, id);
create index moves_open_idx on moves (tenant, planned_at) where state not in ('removed', 'failed');

-- The triples of the source, by day, that the new segments must have.
create table move_days (
  tenant text collate "C" not null,
  move_id text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  constraint move_days_pkey primary key (tenant, move_id, store, day)
);

-- The segments that a move reads (role in) and writes (role out), told before the first byte is written.
create table move_segments (
  tenant text collate "C" not null,
  move_id text collate "C" not null,
  segment_id text collate "C" not null,
  role text collate "C" not null,
  object_key text collate "C" not null,
  -- null until it is written
  size_bytes bigint,
  sha256 bytea,
  constraint move_segments_pkey primary key (tenant, move_id, segment_id)
);

-- Objects that nothing refers to any more, kept until those who may still read them are done.
create table object_removals (
  tenant text collate "C" not null,
  object_key text collate "C" not null,
  move_id text collate "C" not null,
  remove_after timestamptz not null,
  constraint object_removals_pkey primary key (tenant, object_key)
);
create index object_removals_remove_after_idx on object_removals (remove_after);

-- Verifications: catalogue against objects and objects against catalogue.
create table verifications (
  id text collate "C" not null,
  -- queued, running, completed, failed
  state text collate "C" not null default 'queued',
  tenant text collate "C",
  tenants text[] collate "C",
  requested_by text,
  requested_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  segments_total integer,
  segments_done integer not null default 0,
  bytes_total bigint,
  bytes_done bigint not null default 0,
  records_done bigint not null default 0,
  problem_count integer not null default 0,
  -- the first 1,000
  problems json not null default '[]',
  error text,
  constraint verifications_pkey primary key (id)
);
create index verifications_requested_at_idx on verifications (requested_at, id);
