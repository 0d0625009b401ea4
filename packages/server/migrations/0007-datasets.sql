-- Tags, dataset versions and export jobs.
-- The previous release does not survive this migration once it writes: it does not keep tenant_days.

-- Counters of a tenant's days: what coverage of tenant-wide tags and the calendar of a tenant are read
-- from. A sum over the days of 1,000,000 leaves would take seconds.
create table tenant_days (
  tenant text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint tenant_days_pkey primary key (tenant, day)
);
insert into tenant_days (tenant, day, count, bytes, digest, first_at, last_at,
  cold_count, cold_bytes, cold_stored_bytes)
select tenant, day, sum(count), sum(bytes), mod(sum(digest), 18446744073709551616),
  min(first_at), max(last_at), sum(cold_count), sum(cold_bytes), sum(cold_stored_bytes)
from leaf_days group by tenant, day;

-- Windows of whole days that are training or fine-tuning data, with what arrives in them later.
create table tags (
  tenant text collate "C" not null,
  id text collate "C" not null,
  -- null: all stores
  store text collate "C",
  -- first and last day, both included; null: open at this end
  first_day date,
  last_day date,
  -- training, fine_tuning
  dataset text collate "C" not null,
  note text,
  created_at timestamptz not null default now(),
  -- name of the token
  created_by text not null,
  constraint tags_pkey primary key (tenant, id),
  constraint tags_days_check check (first_day <= last_day),
  constraint tags_window_key unique nulls not distinct (tenant, store, first_day, last_day, dataset)
);
create index tags_id_idx on tags (id);
create index tags_created_at_idx on tags (created_at, id);

-- Frozen slices: the records of the tags' windows that were recorded before `recorded_before`.
create table dataset_versions (
  tenant text collate "C" not null,
  id text collate "C" not null,
  dataset text collate "C" not null,
  name text not null,
  note text,
  -- percent, 100 together; null: no split
  train_share smallint,
  validation_share smallint,
  test_share smallint,
  -- the tags as they were: [{tag_id, store, from, to, note}]
  slices json not null,
  -- merged windows of both datasets: {training: [...], fine_tuning: [...]}, see records/tags
  tags json not null,
  recorded_before timestamptz not null,
  -- as frozen
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  -- counting: its records are being read and compared. ready. failed: they are not what was frozen
  state text collate "C" not null default 'counting',
  -- what is left of it, read from content; null until counted. Differs only after a change
  current_count bigint,
  current_bytes bigint,
  current_digest numeric(20, 0),
  -- {train: {count, digest}, validation: …, test: …}; null until counted, or without shares
  splits json,
  -- stretches of the key order that its exports are cut into, so that they stay the same: see records/pin
  parts json not null,
  -- the last time that records of it went: erased, or deleted because that was told
  changed_at timestamptz,
  change text collate "C",
  error text,
  created_at timestamptz not null default now(),
  created_by text not null,
  constraint dataset_versions_pkey primary key (tenant, id),
  constraint dataset_versions_name_key unique (tenant, name),
  constraint dataset_versions_shares_check check (train_share + validation_share + test_share = 100)
);
create index dataset_versions_id_idx on dataset_versions (id);
create index dataset_versions_created_at_idx on dataset_versions (created_at, id);
create index dataset_versions_counting_idx on dataset_versions (created_at) where state = 'counting';

-- The windows of versions, for retention to look into.
create table dataset_version_windows (
  tenant text collate "C" not null,
  version_id text collate "C" not null,
  ordinal integer not null,
  -- null: all stores
  store text collate "C",
  first_day date not null,
  -- the day after the last
  until date not null,
  constraint dataset_version_windows_pkey primary key (tenant, version_id, ordinal)
);

-- Whether a run deletes days of dataset versions too, and how many records these kept from it.
alter table retention_runs add column delete_versioned boolean not null default false;
alter table retention_runs add column kept_count bigint not null default 0;
-- What else went or changed with the records that left for good: {tagsRemoved, versionsChanged,
-- exportsRemoved}; null until the switch.
alter table moves add column effects json;

-- Export jobs.
create table exports (
  tenant text collate "C" not null,
  id text collate "C" not null,
  -- csv, ndjson, parquet
  format text collate "C" not null,
  -- queued, running, completed, failed, cancelled
  state text collate "C" not null default 'queued',
  -- the body of the request
  request json not null,
  file_name text not null,
  -- What is pinned, so that every part reads the same records, whenever and by whatever process: the
  -- slice, with the merged windows of the tags as they were, and the time its records were stored before.
  slice json not null,
  recorded_before timestamptz not null,
  version_id text collate "C",
  -- {id, name, dataset, shares}, as they were
  version json,
  -- Of the file: format, columns, header, profile, compression; as the defaults were.
  options json not null,
  -- of the slice when it was pinned; null until measured, where counters cannot tell
  rows_total bigint,
  bytes_total bigint,
  digest numeric(20, 0),
  parts_total integer,
  rows_done bigint not null default 0,
  -- of the file, so far
  size_bytes bigint not null default 0,
  sha256 bytea,
  -- Head and tail of the file, one object: {object_key, sha256, head_bytes, tail_bytes}.
  ends json,
  manifest json,
  requested_by text not null,
  token_id text collate "C" not null,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz,
  -- whether its parts are gone: expired, deleted, erased
  files_removed_at timestamptz,
  error_code text collate "C",
  error text,
  -- of the process that works on it: another one takes over by changing it
  runner text collate "C",
  -- how often it was taken up
  attempts integer not null default 0,
  -- the last time, and what was done by then
  taken_at timestamptz,
  rows_before bigint not null default 0,
  -- attempts in a row that failed before they finished a part; the next one not before
  failures integer not null default 0,
  not_before timestamptz,
  constraint exports_pkey primary key (tenant, id)
);
create index exports_id_idx on exports (id);
create index exports_created_at_idx on exports (created_at, id);
create index exports_tenant_created_at_idx on exports (tenant, created_at, id);
create index exports_open_idx on exports (created_at, id) where state in ('queued', 'running');
create index exports_files_idx on exports (expires_at) where files_removed_at is null;

-- The parts of a job's file, cut when it is pinned. The file is head, parts in order, tail.
create table export_parts (
  tenant text collate "C" not null,
  export_id text collate "C" not null,
  number integer not null,
  -- whole store-days, from the first to the last in key order, both included
  first_store text collate "C" not null,
  first_day date not null,
  last_store text collate "C" not null,
  last_day date not null,
  -- the earliest and the latest day in it, of whatever store
  min_day date not null,
  max_day date not null,
  -- below the blob URL; set before its first byte is written
  object_key text collate "C",
  -- null until it is done
  rows bigint,
  digest numeric(20, 0),
  size_bytes bigint,
  sha256 bytea,
  -- before compression
  body_bytes bigint,
  -- what the tail of the file needs of it (Parquet: its row groups)
  layout json,
  constraint export_parts_pkey primary key (tenant, export_id, number)
);

-- The other half of leaf_days_hot_idx: with both, the days that windows cut are read for all stores of a
-- tenant at once. Records that are hot have no entry in it, so that ingest does not pay for it.
create index leaf_days_cold_idx on leaf_days (tenant, day) where count <= cold_count;
