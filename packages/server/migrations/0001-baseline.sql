-- The schema of the first release, feature by feature. Builds from before it made the same by 39 migrations:
-- src/platform/postgres/baseline.ts knows their databases.

-- Text keys order by their bytes ("C"), as Node and DuckDB order them. A digest of a set of records is a sum mod 2^64.
-- Tables whose rows change often leave room on their pages (fillfactor): PostgreSQL rewrites a row in place (HOT) if
-- its page has room for another version, and if no index names a column that changes.

---------------------------------------------------------------------------------------------------------------- access

create table access_tokens (
  id text collate "C" not null,
  hash bytea not null,
  name text not null,
  scopes text[] not null,
  -- null: all tenants
  tenants text[] collate "C",
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- the token that made it, which it expires and is revoked with
  -- null: made on the machine that holds the database settings
  creator_id text collate "C",
  constraint access_tokens_pkey primary key (id),
  constraint access_tokens_hash_key unique (hash),
  constraint access_tokens_creator_fkey foreign key (creator_id) references access_tokens (id)
);
create index access_tokens_creator_idx on access_tokens (creator_id);

-- The keys that the service signs with.
create table signing_keys (
  name text collate "C" not null,
  key bytea not null,
  constraint signing_keys_pkey primary key (name)
);

-- Console sign-in. A session stands for the token it was opened with, and dies with it.
create table sessions (
  -- SHA-256 of the cookie's value
  hash bytea not null,
  token_id text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- until when it need not give its access token again
  confirmed_until timestamptz,
  -- by which sessions are listed and ended one by one
  session_id text collate "C" not null default 'ses_' || replace(gen_random_uuid()::text, '-', ''),
  -- from where it was opened
  address text,
  user_agent text,
  constraint sessions_pkey primary key (hash)
);
create index sessions_expires_at_idx on sessions (expires_at);
create unique index sessions_session_id_idx on sessions (session_id);
create index sessions_token_idx on sessions (token_id);

-- One-time links that open a session without pasting a token.
create table sign_in_links (
  hash bytea not null,
  token_id text collate "C" not null,
  expires_at timestamptz not null,
  constraint sign_in_links_pkey primary key (hash)
);

-- One-time links that download an export.
create table export_links (
  hash bytea not null,
  token_id text collate "C" not null,
  -- the body of the export's request
  request json not null,
  expires_at timestamptz not null,
  constraint export_links_pkey primary key (hash)
);

-- What access tokens and sign-ins have used of their limits, for all processes together. Unlogged, because it changes
-- all the time and may be lost: after a crash of PostgreSQL nobody has used anything.
create unlogged table limit_use (
  name text collate "C" not null,
  subject text collate "C" not null,
  -- as of the time `at`; a share comes back each minute
  used double precision not null,
  at timestamptz not null,
  constraint limit_use_pkey primary key (name, subject)
);

-- The audit log: what operators wrote and took out, each entry in the transaction of what it tells.
create table audit_log (
  id bigint generated always as identity,
  at timestamptz not null default now(),
  -- null: not through the API but on the machine that holds the database settings
  token_id text collate "C",
  -- as it was called then
  token_name text not null,
  -- <noun>.<verb>
  action text collate "C" not null,
  target text collate "C",
  -- null: concerns no single tenant
  tenant text collate "C",
  request_id text,
  address text,
  user_agent text,
  before json,
  after json,
  -- set where an act concerns several tenants; then tenant is null
  tenants text[] collate "C",
  constraint audit_log_pkey primary key (id)
);
create index audit_log_at_idx on audit_log (at, id);
create index audit_log_tenant_idx on audit_log (tenant, at, id);
create index audit_log_token_idx on audit_log (token_id, at, id);
create index audit_log_action_idx on audit_log (action, at, id);

-- The audit log is a chain: each entry has a place, and a hash over its content and the hash of the entry before it.
create table audit_links (
  place bigint not null,
  -- of audit_log; no foreign key, because a link must outlive an entry that somebody removes
  entry_id bigint not null,
  hash bytea not null,
  constraint audit_links_pkey primary key (place)
);
create unique index audit_links_entry_idx on audit_links (entry_id);

-- Both ends of the chain, in one row: its newest entry, and the newest one that was pruned.
create table audit_chain (
  is_only boolean not null default true,
  last_place bigint not null default 0,
  last_hash bytea not null default sha256(''),
  pruned_place bigint not null default 0,
  pruned_hash bytea not null default sha256(''),
  constraint audit_chain_pkey primary key (is_only),
  constraint audit_chain_is_only_check check (is_only)
);
insert into audit_chain default values;

-- What the hash of an entry is over: all that the entry tells. The text of before and after is kept as it was written.
create function audit_text(entry audit_log) returns text language sql stable as $$
  select json_build_array(
    entry.id, to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), entry.token_id,
    entry.token_name, entry.action, entry.target, entry.tenant, entry.tenants, entry.request_id,
    entry.address, entry.user_agent, entry.before, entry.after)::text
$$;

-- It runs when the transaction commits. The row of audit_chain is locked only from then on, so acts wait for one
-- another's commit alone, and none for an act that still works.
create function link_audit_entry() returns trigger language plpgsql as $$
begin
  with chain as (
    update audit_chain set last_place = last_place + 1,
      last_hash = sha256(last_hash || convert_to(audit_text(new), 'UTF8'))
    returning last_place, last_hash
  )
  insert into audit_links (place, entry_id, hash) select last_place, new.id, last_hash from chain;
  return null;
end
$$;

create constraint trigger audit_log_linked after insert on audit_log
  deferrable initially deferred for each row execute function link_audit_entry();

--------------------------------------------------------------------------------------------------------------- records

-- The key is identity, read order and dedupe in one index. `enrichment` is json, not jsonb: it is kept and handed out
-- to the letter.
create table enrichment_records (
  tenant text collate "C" not null,
  store text collate "C" not null,
  occurred_at timestamptz not null,
  event_id text collate "C" not null,
  recorded_at timestamptz not null,
  kind text collate "C",
  source text collate "C",
  model text collate "C",
  -- the decimal text that was sent: numeric would bend 1e-3 and 0.10
  confidence text collate "C",
  -- UTF-8 length of the record as one NDJSON line
  bytes integer not null,
  -- record_digest of the row: computed once, at ingest (6.9 µs a row in SQL, 1 µs in Node)
  digest bigint not null,
  enrichment json not null,
  constraint enrichment_records_pkey primary key (tenant, store, occurred_at, event_id)
) partition by range (occurred_at);

-- The digest of one record, computed from its content as kernel/digest.ts does, to check the stored ones. A signed
-- bigint: sum() over bigint is exact in numeric, and that mod 2^64 is the digest of the set. concat_ws is 2.4 times as
-- fast as a chain of ||.
create function record_digest(
  tenant text, store text, occurred_at timestamptz, event_id text,
  kind text, source text, model text, confidence text, enrichment json
) returns bigint language sql stable parallel safe as $$
  select ('x' || left(md5(concat_ws(
    e'\x1f', tenant, store, (extract(epoch from occurred_at) * 1000000)::bigint, event_id,
    coalesce(kind, e'\x01'), coalesce(source, e'\x01'), coalesce(model, e'\x01'),
    coalesce(confidence, e'\x01'), enrichment::text
  )), 16))::bit(64)::bigint
$$;

-- Fails with this SQLSTATE, which undoes all that the statement did. With this function and the next, storing a part
-- takes one round trip.
create function refuse(code text) returns boolean
  language plpgsql as $$
begin
  raise exception using errcode = code, message = 'refused: ' || code;
end $$;

-- For each of these rows, whether what is stored under its key has the same content; null when nothing is. This is a
-- function because a statement that names the table locks all its partitions, whether or not it comes to read them. It
-- is stable, so that it sees what the calling statement sees. The rows are joined with those that are stored, and only
-- then with all: Citus looks up no row by row.
create function compare_stored(
  ordinals integer[], tenants text[], stores text[], times timestamptz[], event_ids text[], digests bigint[],
  kinds text[], sources text[], models text[], confidences text[], enrichments text[]
) returns table (ordinal integer, is_same boolean) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  with found as materialized (
    select sent.ordinal,
      (stored.digest, stored.kind, stored.source, stored.model, stored.confidence, stored.enrichment::text)
      is not distinct from (sent.digest, sent.kind, sent.source, sent.model, sent.confidence, sent.enrichment)
      as is_same
    from unnest(ordinals, tenants, stores, times, event_ids, digests, kinds, sources, models, confidences, enrichments)
      as sent(ordinal, tenant, store, occurred_at, event_id, digest, kind, source, model, confidence, enrichment)
    join enrichment_records stored on stored.tenant = sent.tenant and stored.store = sent.store
      and stored.occurred_at = sent.occurred_at and stored.event_id = sent.event_id
  )
  select sent.ordinal, found.is_same from unnest(ordinals) as sent(ordinal) left join found using (ordinal);
end $$;

-- Counters of the days of each store, and their sums by month, store, tenant, day and month of a tenant, all changed in
-- the transaction that changes the records. `cold_…` is the share that lies in segments; the rest is hot.
-- A part adds to many counters at once, and the versions that a transaction replaces make no room before its end: on
-- full pages hardly an update was in place. Full pages save no space in the end, because what is counted is counted
-- again, and the days once more when they are moved.
create table leaf_days (
  tenant text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  -- changes with the cold records: who checked late records against them sees by it that they are others by now
  cold_digest numeric(20, 0) not null default 0,
  cold_stored_bytes bigint not null default 0,
  -- a column of its own: an index on the count would get an entry with every record that is stored
  has_hot boolean not null generated always as (count > cold_count) stored,
  constraint leaf_days_pkey primary key (tenant, store, day)
) with (fillfactor = 50);
-- The first has what a mover looks for. With both, the days that windows cut are read for all stores of a tenant at
-- once.
create index leaf_days_hot_idx on leaf_days (tenant, day) where has_hot;
create index leaf_days_cold_idx on leaf_days (tenant, day) where not has_hot;

create table leaf_months (
  tenant text collate "C" not null,
  store text collate "C" not null,
  -- YYYY-MM
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint leaf_months_pkey primary key (tenant, store, month)
) with (fillfactor = 50);
create index leaf_months_month_idx on leaf_months (month, tenant, store);
create index leaf_months_store_idx on leaf_months (store, tenant, month);

create table leaf_stores (
  tenant text collate "C" not null,
  store text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint leaf_stores_pkey primary key (tenant, store)
) with (fillfactor = 50);
create index leaf_stores_store_idx on leaf_stores (store, tenant);

create table leaf_tenants (
  tenant text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint leaf_tenants_pkey primary key (tenant)
) with (fillfactor = 50);

-- What coverage of tenant-wide tags and the calendar of a tenant are read from. A sum over the days of 1,000,000 leaves
-- would take seconds.
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
  has_hot boolean not null generated always as (count > cold_count) stored,
  constraint tenant_days_pkey primary key (tenant, day)
) with (fillfactor = 50);
-- The plan of retention reads only those days of a tenant that are due, however many became cold before.
create index tenant_days_hot_idx on tenant_days (tenant, day) where has_hot;

-- A tenant's row of one month, and the coverage of windows of whole months. A page of 500 tenants would otherwise sum a
-- counter for each store, or for each tagged day.
create table tenant_months (
  tenant text collate "C" not null,
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint tenant_months_pkey primary key (tenant, month)
) with (fillfactor = 50);
create index tenant_months_month_idx on tenant_months (month, tenant);

-- Records by the hour in which they were stored. A part adds to it after all other counters, in the order of the
-- tenants: whoever adds for a tenant has its row of leaf_tenants locked, so that nobody waits here who did not wait
-- there. The tenant '' has the sums of all tenants for the hours that are over, so that their chart reads a row for
-- each hour.
create table stored_hours (
  tenant text collate "C" not null,
  hour timestamptz not null,
  count bigint not null,
  bytes bigint not null,
  constraint stored_hours_pkey primary key (tenant, hour)
) with (fillfactor = 50);
-- to sum and to forget by
create index stored_hours_hour_idx on stored_hours (hour);

-- The same by day, and what was hot and cold at its end. A row is written once, when its day is over; '' has the sums.
create table stored_days (
  tenant text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  -- null for a day at whose end nobody looked
  hot_count bigint,
  hot_bytes bigint,
  cold_count bigint,
  cold_bytes bigint,
  constraint stored_days_pkey primary key (tenant, day)
);
-- to find the tenants that sent most by, and to forget by
create index stored_days_day_idx on stored_days (day, count desc, tenant);

--------------------------------------------------------------------------------------------------------- the cold tier

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
  -- Where its row groups lie, each with its SHA-256: 3 KB for a million records. Pages of segments in a remote store
  -- fetch only those that they need; where this is null, the whole object.
  pieces json,
  -- when it was last found right
  verified_at timestamptz,
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
  -- whether it deletes days of dataset versions too, and how many records these kept from it
  delete_versioned boolean not null default false,
  kept_count bigint not null default 0,
  -- what it gave back to the disk
  freed_bytes bigint not null default 0,
  -- whether processes divide it among them, in work_shares
  is_divided boolean not null default false,
  -- since when it waits for a store that does not answer, and what that said
  waiting_since timestamptz,
  waiting_for text,
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
  -- What else went or changed with the records that left for good: {tagsRemoved, versionsChanged, exportsRemoved}; null
  -- until the switch.
  effects json,
  -- tables whose files may still have what an erasure deleted; null: none, or no erasure
  scrub_due text[],
  -- {kept: tables too large to be written anew, hasCheckpoint}; null until it was tried
  scrubbed json,
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
  -- only segments, and counters of tenants, that were not found right since then; null: all
  since timestamptz,
  -- of these; null: all
  sample_percent double precision,
  -- as of retention_runs, and so are the next two
  is_divided boolean not null default false,
  waiting_since timestamptz,
  waiting_for text,
  constraint verifications_pkey primary key (id)
);
create index verifications_requested_at_idx on verifications (requested_at, id);

-- When the counters of a tenant were last found right.
create table verified_tenants (
  tenant text collate "C" not null,
  verified_at timestamptz not null,
  constraint verified_tenants_pkey primary key (tenant)
);

-- Shares of work that several processes divide: the tenants of a run, stretches of segments of a verification.
create table work_shares (
  job text collate "C" not null,
  number integer not null,
  -- what is to be done
  work json not null,
  -- of the process that took it last
  mark text collate "C",
  constraint work_shares_pkey primary key (job, number)
);

-- The token that database and store of cold data both hold, so that of two copies of a database one writes.
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

-------------------------------------------------------------------------------------------------------------- datasets

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
  -- stretches of the key order that its exports are cut into, so that they stay the same: see records/versions
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

--------------------------------------------------------------------------------------------------------------- exports

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
  -- What is pinned, so that every part reads the same records, whenever and by whatever process: the slice, with the
  -- merged windows of the tags as they were, and the time its records were stored before.
  slice json not null,
  recorded_before timestamptz not null,
  version_id text collate "C",
  -- {id, name, dataset, shares}, as they were
  version json,
  -- of the file: format, columns, header, profile, compression; as the defaults were
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
  -- head and tail of the file, one object: {object_key, sha256, head_bytes, tail_bytes}
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
  -- since when it waits for a store that does not answer
  waiting_since timestamptz,
  constraint exports_pkey primary key (tenant, id)
);
create index exports_id_idx on exports (id);
create index exports_created_at_idx on exports (created_at, id);
create index exports_tenant_created_at_idx on exports (tenant, created_at, id);
create index exports_open_idx on exports (created_at, id) where state in ('queued', 'running');
create index exports_files_idx on exports (expires_at) where files_removed_at is null;
-- those that ended lately, for notices
create index exports_finished_at_idx on exports (finished_at) where finished_at is not null;

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

-------------------------------------------------------------------------------------------------------------- webhooks

create table webhook_endpoints (
  id text collate "C" not null,
  -- hash of the id mod 64: an endpoint and its deliveries lie in one lane, which one drainer works at a time
  lane smallint not null,
  tenant text collate "C" not null,
  url text not null,
  description text,
  -- '*' = all
  event_types text[] not null,
  enabled boolean not null,
  -- operator, failing, or gone (the receiver answered 410); null while enabled
  disabled_reason text,
  -- null: the default of the service
  max_attempts integer,
  -- seconds before attempt 2, 3, …; the last repeats; null: the default schedule
  retry_schedule integer[],
  -- deliveries a second; null: no limit
  rate_limit integer,
  -- encrypted (AES-256-GCM) under SVC_SECRET_KEY
  secret bytea not null,
  -- the breaker
  failures_in_row integer not null default 0,
  paused_until timestamptz,
  -- how often it has opened without a success in between: each pause is longer
  pauses_in_row integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- kept for the history of its deliveries
  deleted_at timestamptz,
  -- since when it is disabled; null while enabled
  disabled_at timestamptz,
  -- the name of the operator's token; null while enabled, when the receiver did it, and when nobody knows
  disabled_by text,
  -- those that were rotated out, encrypted like secret, the newest first; each signs until its time
  previous_secrets bytea[] not null default '{}',
  previous_secrets_until timestamptz[] not null default '{}',
  -- when the failures in a row began; null after a success, and while none was noted
  failing_since timestamptz,
  -- the service disables it after failures for so many days; null: never
  disable_after_days smallint,
  -- until when its receiver takes no more
  throttled_until timestamptz,
  constraint webhook_endpoints_pkey primary key (id),
  constraint webhook_endpoints_disabled_check check ((disabled_at is null) = enabled)
);
create index webhook_endpoints_tenant_idx on webhook_endpoints (tenant, id);
-- Those that fail, so that looking for them costs nothing where all is well. They are few, and change rarely.
create index webhook_endpoints_trouble_idx on webhook_endpoints (tenant, id)
  where deleted_at is null and (paused_until is not null or failures_in_row > 0 or disabled_reason = 'gone');
-- Those that operators have disabled, of which OVERVIEW tells those with a backlog.
create index webhook_endpoints_held_idx on webhook_endpoints (tenant, id)
  where deleted_at is null and disabled_reason = 'operator';

create table incidents (
  id text collate "C" not null,
  tenant text collate "C" not null,
  store text collate "C",
  type text not null,
  occurred_at timestamptz not null,
  -- what every delivery of it sends, on every attempt: {"type","timestamp","data"}
  body text not null,
  created_at timestamptz not null default now(),
  -- the request that reported it, so that the log of the drainer can name it
  request_id text collate "C",
  -- the trace that it was reported in, so that the attempts of its deliveries are part of it
  trace_parent text collate "C",
  -- when its payload was erased, and how large that was
  erased_at timestamptz,
  body_bytes integer,
  constraint incidents_pkey primary key (id)
);
create index incidents_created_at_idx on incidents (created_at, id);
create index incidents_tenant_idx on incidents (tenant, created_at, id);

-- The caller's idempotency keys, each for 30 days.
create table incident_keys (
  tenant text collate "C" not null,
  idempotency_key text collate "C" not null,
  incident_id text collate "C" not null,
  -- SHA-256 of the request: the same key with another body is refused
  digest bytea not null,
  created_at timestamptz not null default now(),
  constraint incident_keys_pkey primary key (tenant, idempotency_key)
);
create index incident_keys_created_at_idx on incident_keys (created_at);
create index incident_keys_incident_idx on incident_keys (incident_id);

-- The dead-letter queue is not a second table but the deliveries that are pending or abandoned.
create table deliveries (
  lane smallint not null,
  -- its first two digits are the lane: a statement by id names one lane
  id text collate "C" not null,
  incident_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  tenant text collate "C" not null,
  event_type text not null,
  -- the URL of the last attempt; before the first, of the endpoint
  target text not null,
  -- webhook-id: the same on every attempt
  idempotency_key text collate "C" not null,
  status text not null default 'queued',
  -- counts the changes of status: a re-arm that raced another finds a new version
  version integer not null default 0,
  attempts integer not null default 0,
  max_attempts integer not null,
  -- attempts when the retry schedule last began
  schedule_from integer not null default 0,
  -- null unless queued or pending
  next_attempt_at timestamptz default now(),
  -- what next_attempt_at is due to: schedule, or retry_after
  held_by text,
  -- an operator's retry: passes an open breaker
  is_probe boolean not null default false,
  -- who is attempting it, until when at the latest
  lease bigint,
  leased_until timestamptz,
  last_status integer,
  failure_class text,
  error text,
  created_at timestamptz not null default now(),
  last_attempt_at timestamptz,
  finished_at timestamptz,
  -- since when its receiver has refused it only because it takes no more
  throttled_since timestamptz,
  constraint deliveries_pkey primary key (lane, id),
  constraint deliveries_status_check
    check (status in ('queued', 'pending', 'abandoned', 'delivered', 'discarded')),
  constraint deliveries_next_attempt_check
    check ((next_attempt_at is not null) = (status in ('queued', 'pending')))
  -- A claim changes no column of an index, so the row stays on its page if there is room for another version of all
  -- rows of the page, which one claim may take: at 70 half of the claims stayed, now nearly all.
) with (fillfactor = 45);
-- One that waited too long for its endpoint, or whose payload was erased, is abandoned without an attempt. This is not
-- valid only because it is so in databases of earlier builds, whose rows a stricter rule had checked.
alter table deliveries add constraint deliveries_abandoned_check check (
  status <> 'abandoned' or attempts >= 1 or coalesce(failure_class, '') in ('endpoint_disabled', 'erased')
) not valid;
create index deliveries_due_idx on deliveries (lane, endpoint_id, next_attempt_at)
  where next_attempt_at is not null;
create index deliveries_probe_idx on deliveries (lane, endpoint_id)
  where is_probe and next_attempt_at is not null;
-- The history.
create index deliveries_created_at_idx on deliveries (created_at, id);
create index deliveries_tenant_idx on deliveries (tenant, created_at, id);
create index deliveries_endpoint_idx on deliveries (endpoint_id, created_at, id);
create index deliveries_incident_idx on deliveries (incident_id);
-- The dead-letter queue, newest failure first.
create index dead_letters_idx on deliveries (status, last_attempt_at, id)
  where status in ('pending', 'abandoned');
create index dead_letters_tenant_idx on deliveries (tenant, status, last_attempt_at, id)
  where status in ('pending', 'abandoned');
create index dead_letters_endpoint_idx on deliveries (endpoint_id, status, last_attempt_at, id)
  where status in ('pending', 'abandoned');
create index dead_letters_group_idx on deliveries (endpoint_id, status, failure_class, last_attempt_at)
  where status in ('pending', 'abandoned');
-- The incidents of which a delivery failed, in the order of their list, of all tenants and of each.
create index dead_letters_incident_idx on deliveries (created_at, incident_id)
  where status in ('pending', 'abandoned');
create index dead_letters_tenant_incident_idx on deliveries (tenant, created_at, incident_id)
  where status in ('pending', 'abandoned');
-- New deliveries go before those that wait for another attempt, so each kind is found along an index of its own.
create index deliveries_fresh_idx on deliveries (lane, endpoint_id, next_attempt_at)
  where next_attempt_at is not null and last_attempt_at is null;
create index deliveries_tried_idx on deliveries (lane, endpoint_id, next_attempt_at)
  where next_attempt_at is not null and last_attempt_at is not null;

create table delivery_attempts (
  lane smallint not null,
  delivery_id text collate "C" not null,
  -- from 1
  number integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  target text not null,
  -- the HTTP status; null when none came
  status integer,
  -- null: delivered
  failure_class text,
  error text,
  -- the first 4 KiB of the answer's body, after decompression
  response bytea,
  -- how large that was, when it was erased
  response_bytes integer,
  constraint delivery_attempts_pkey primary key (lane, delivery_id, number)
);

-- Who keeps each lane. Its lock (platform/postgres/locks.ts) tells who may work it now; this row tells who took it
-- last, so that whoever had it before and does not know yet claims nothing of it any more.
create table lanes (
  lane smallint not null,
  -- a drainer, as long as one session of it lives; null: nobody took the lane yet
  keeper bigint,
  -- the lane passes on when its keeper's session has said nothing for so long
  silence_seconds double precision,
  constraint lanes_pkey primary key (lane)
);
insert into lanes (lane) select generate_series(0, 63);

-- How many rows of the dead-letter queue there are, changed in the transaction that changes the rows.
create table dead_letter_counts (
  endpoint_id text collate "C" not null,
  status text not null,
  failure_class text not null,
  tenant text collate "C" not null,
  count bigint not null,
  constraint dead_letter_counts_pkey primary key (endpoint_id, status, failure_class)
);
create index dead_letter_counts_tenant_idx on dead_letter_counts (tenant, status);

-- Bulk work on the dead-letter queue, done in batches, resumed after a restart.
create table dead_letter_jobs (
  id text collate "C" not null,
  -- retry, discard (what a deleted endpoint leaves behind), or discard_backlog
  action text not null,
  -- running, paused, completed, cancelled
  state text not null,
  -- the filter; null = any
  status text,
  tenant text collate "C",
  endpoint_id text collate "C",
  failure_class text,
  failed_from timestamptz,
  failed_to timestamptz,
  -- the tenants that its maker reaches; null = all
  reach text[] collate "C",
  -- rows a second; null: as fast as it goes
  rate integer,
  rows_total bigint not null,
  rows_done bigint not null default 0,
  -- rows that could not be changed: their endpoint is disabled
  rows_skipped bigint not null default 0,
  -- where it has got to, per status in work
  position json,
  -- rows that fail later are left alone
  snapshot_at timestamptz not null default now(),
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint dead_letter_jobs_pkey primary key (id),
  constraint dead_letter_jobs_state_check check (state in ('running', 'paused', 'completed', 'cancelled'))
);
create index dead_letter_jobs_open_idx on dead_letter_jobs (created_at, id)
  where state in ('running', 'paused');
create index dead_letter_jobs_created_at_idx on dead_letter_jobs (created_at, id);
-- What discards the backlog of an endpoint, and then enables it; one at a time for an endpoint.
create unique index dead_letter_jobs_backlog_idx on dead_letter_jobs (endpoint_id)
  where action = 'discard_backlog' and state = 'running';

-- What became of attempts, hour by hour: for charts and for the share that succeeds, which would otherwise have to read
-- the deliveries of days.
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

--------------------------------------------------------------------------------------------------------------- notices

-- Who is told of what is wrong and of what has ended, by webhook and by e-mail.
create table notify_targets (
  id text collate "C" not null,
  -- webhook, email
  kind text not null,
  -- the URL, or the e-mail address
  address text not null,
  -- what notices are signed with, encrypted as the secrets of endpoints are; null for e-mail
  secret bytea,
  -- null = all
  kinds text[],
  -- info, warning, critical
  min_severity text not null,
  enabled boolean not null default true,
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- when it was told of what was open already; null: it will be
  briefed_at timestamptz default now(),
  constraint notify_targets_pkey primary key (id)
);

-- Troubles, which begin and end, and events, which have ended when they are stored.
create table notices (
  id text collate "C" not null,
  kind text not null,
  -- the endpoint, job or target that it is about; '' when there is only one of its kind
  subject text collate "C" not null,
  -- the run or the verification that shows it; another one is told anew
  ref text collate "C" not null,
  severity text not null,
  tenant text collate "C",
  title text not null,
  advice text not null,
  -- where the console shows it
  place text not null,
  -- when it began, as far as is known
  since timestamptz not null,
  created_at timestamptz not null default now(),
  -- when it was told last; null while it is held back, because it may pass
  told_at timestamptz,
  -- since when a trouble is not found any more; it may only flap
  missing_since timestamptz,
  ended_at timestamptz,
  constraint notices_pkey primary key (id)
);
-- Whoever finds it a second time, tells nobody.
create unique index notices_open_idx on notices (kind, subject) where ended_at is null;
create unique index notices_event_idx on notices (kind, subject) where kind in ('export_done', 'export_failed');
-- From when on jobs that ended are looked for.
create index notices_event_since_idx on notices (since) where kind in ('export_done', 'export_failed');
create index notices_created_at_idx on notices (created_at, id);

-- What is sent to a target at once: a row of the queue, and then of the history.
create table notice_sends (
  id text collate "C" not null,
  target_id text collate "C" not null,
  -- what the notices said when they were told
  items json not null,
  -- how many more there were at that moment
  more integer not null default 0,
  is_test boolean not null default false,
  attempts integer not null default 0,
  -- null when it has ended; an attempt under way holds it back for longer than it can take
  next_attempt_at timestamptz,
  delivered boolean,
  -- of the last attempt
  error text,
  status integer,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint notice_sends_pkey primary key (id)
);
create index notice_sends_due_idx on notice_sends (next_attempt_at) where next_attempt_at is not null;
create index notice_sends_target_idx on notice_sends (target_id, created_at, id);
create index notice_sends_created_at_idx on notice_sends (created_at, id);

---------------------------------------------------------------------------------------------------- the service itself

-- The processes that run: for `svcctl ps` and `svcctl doctor`. A process adds its row once the database is ready, says
-- every ten seconds that it lives, and removes the row when it stops. One that was killed, or is frozen, leaves it
-- behind with an old seen_at.
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
  -- the ids of the keys of webhook secrets that it knows, the one that encrypts first: keys are rotated while it runs
  secret_keys text[] not null default '{}',
  -- svcctl serve, or svcctl drain, which is there for as long as something is due
  command text not null default 'serve',
  -- the last migration that it knows, so that a release whose migrations it does not survive can name it
  migration text collate "C",
  constraint processes_pkey primary key (id)
  -- A heartbeat changes no indexed column.
) with (fillfactor = 50);

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

-- Functions that say the same of one server and of a Citus cluster. This one: whether the rows of a table lie on the
-- workers of a cluster.
create function is_spread(name regclass) returns boolean language plpgsql stable as $$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then
    return false;
  end if;
  return exists (select from pg_dist_partition where logicalrelid = name);
end $$;

-- The size of a table on the disk, with its indexes and large values.
create function table_bytes(name regclass) returns bigint language plpgsql stable as $$
begin
  if is_spread(name) then
    return citus_total_relation_size(name);
  end if;
  return pg_total_relation_size(name);
end $$;

-- The rows that were deleted and lie in the table still, and those that live, as far as the server has noticed.
create function table_rows(name regclass, out held bigint, out live bigint) language plpgsql stable as $$
begin
  if is_spread(name) then
    select sum(split_part(result, ' ', 1)::bigint), sum(split_part(result, ' ', 2)::bigint) into held, live
    from run_command_on_placements(name, $command$
      select pg_stat_get_dead_tuples(%1$L::regclass) || ' ' || pg_stat_get_live_tuples(%1$L::regclass)
    $command$);
  else
    held := pg_stat_get_dead_tuples(name);
    live := pg_stat_get_live_tuples(name);
  end if;
end $$;
