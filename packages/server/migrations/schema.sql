create table access_tokens (
  id text collate "C" not null,
  hash bytea not null,
  name text not null,
  scopes text[] not null,
  tenants text[] collate "C",
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  creator_id text collate "C",
  issuer text collate "C",
  subject text collate "C",
  person_id text collate "C",
  addresses text[],
  previous_hash bytea,
  previous_ends_at timestamp with time zone,
  constraint access_tokens_hash_key UNIQUE (hash),
  constraint access_tokens_pkey PRIMARY KEY (id),
  constraint access_tokens_creator_fkey FOREIGN KEY (creator_id) REFERENCES access_tokens(id)
);

CREATE INDEX access_tokens_creator_idx ON public.access_tokens USING btree (creator_id);

CREATE UNIQUE INDEX access_tokens_person_idx ON public.access_tokens USING btree (issuer, subject);

CREATE UNIQUE INDEX access_tokens_previous_hash_idx ON public.access_tokens USING btree (previous_hash) WHERE (previous_hash IS NOT NULL);

create table approvals (
  id text collate "C" not null,
  acts text[] not null,
  route text not null,
  params json not null,
  body json,
  says text not null,
  about json not null,
  tenant text collate "C",
  asker_id text collate "C" not null,
  asker_name text not null,
  asker_root text collate "C" not null,
  request_id text not null,
  address text,
  user_agent text,
  asked_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null default (now() + '24:00:00'::interval),
  state text not null default 'waiting'::text,
  ended_at timestamp with time zone,
  ended_by_id text collate "C",
  ended_by_name text,
  run text,
  outcome text,
  constraint approvals_pkey PRIMARY KEY (id),
  constraint approvals_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'confirmed'::text, 'rejected'::text, 'expired'::text, 'void'::text])))
);

CREATE INDEX approvals_waiting_idx ON public.approvals USING btree (expires_at) WHERE (state = 'waiting'::text);

create table audit_chain (
  is_only boolean not null default true,
  last_place bigint not null default 0,
  last_hash bytea not null default sha256('\x'::bytea),
  pruned_place bigint not null default 0,
  pruned_hash bytea not null default sha256('\x'::bytea),
  constraint audit_chain_pkey PRIMARY KEY (is_only),
  constraint audit_chain_is_only_check CHECK (is_only)
);

create table audit_copies (
  location text not null,
  place bigint not null default 0,
  copied_at timestamp with time zone,
  failing_since timestamp with time zone,
  error text,
  leased_until timestamp with time zone,
  constraint audit_copies_pkey PRIMARY KEY (location)
);

create table audit_links (
  place bigint not null,
  entry_id bigint not null,
  hash bytea not null,
  constraint audit_links_pkey PRIMARY KEY (place)
);

CREATE UNIQUE INDEX audit_links_entry_idx ON public.audit_links USING btree (entry_id);

create table audit_log (
  id bigint not null,
  at timestamp with time zone not null default now(),
  token_id text collate "C",
  token_name text not null,
  action text collate "C" not null,
  target text collate "C",
  tenant text collate "C",
  request_id text,
  address text,
  user_agent text,
  before json,
  after json,
  tenants text[] collate "C",
  constraint audit_log_linked TRIGGER DEFERRABLE INITIALLY DEFERRED,
  constraint audit_log_pkey PRIMARY KEY (id)
);

CREATE INDEX audit_log_action_idx ON public.audit_log USING btree (action, at, id);

CREATE INDEX audit_log_at_idx ON public.audit_log USING btree (at, id);

CREATE INDEX audit_log_tenant_idx ON public.audit_log USING btree (tenant, at, id);

CREATE INDEX audit_log_tenants_idx ON public.audit_log USING gin (tenants) WITH (fastupdate=off) WHERE (tenants IS NOT NULL);

CREATE INDEX audit_log_token_idx ON public.audit_log USING btree (token_id, at, id);

create table audit_seals (
  is_only boolean not null default true,
  key_id text not null,
  since bigint not null,
  pruned_place bigint not null,
  pruned_hash bytea not null,
  place bigint not null,
  hash bytea not null,
  mac bytea not null,
  constraint audit_seals_pkey PRIMARY KEY (is_only),
  constraint audit_seals_is_only_check CHECK (is_only)
);

create table backups (
  id text collate "C" not null,
  place text not null,
  is_incremental boolean not null,
  started_at timestamp with time zone not null default now(),
  taken_at timestamp with time zone,
  finished_at timestamp with time zone,
  records bigint,
  size_bytes bigint,
  new_bytes bigint,
  verified_at timestamp with time zone,
  error_code text collate "C",
  error text,
  constraint backups_pkey PRIMARY KEY (id)
);

CREATE INDEX backups_taken_at_idx ON public.backups USING btree (taken_at) WHERE ((finished_at IS NOT NULL) AND (error_code IS NULL));

create table dataset_version_windows (
  tenant text collate "C" not null,
  version_id text collate "C" not null,
  ordinal integer not null,
  store text collate "C",
  first_day date not null,
  until date not null,
  constraint dataset_version_windows_pkey PRIMARY KEY (tenant, version_id, ordinal)
);

create table dataset_versions (
  tenant text collate "C" not null,
  id text collate "C" not null,
  dataset text collate "C" not null,
  name text not null,
  note text,
  train_share smallint,
  validation_share smallint,
  test_share smallint,
  slices json not null,
  tags json not null,
  recorded_before timestamp with time zone not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  state text collate "C" not null default 'counting'::text,
  current_count bigint,
  current_bytes bigint,
  current_digest numeric(20,0),
  splits json,
  parts json not null,
  changed_at timestamp with time zone,
  change text collate "C",
  error text,
  created_at timestamp with time zone not null default now(),
  created_by text not null,
  group_by text,
  ungrouped bigint,
  where_text text,
  is_counted boolean not null default true,
  typed_schema json,
  constraint dataset_versions_name_key UNIQUE (tenant, name),
  constraint dataset_versions_pkey PRIMARY KEY (tenant, id),
  constraint dataset_versions_shares_check CHECK ((((train_share + validation_share) + test_share) = 100))
);

CREATE INDEX dataset_versions_counting_idx ON public.dataset_versions USING btree (created_at) WHERE (state = 'counting'::text);

CREATE INDEX dataset_versions_created_at_idx ON public.dataset_versions USING btree (created_at, id);

CREATE INDEX dataset_versions_id_idx ON public.dataset_versions USING btree (id);

create table dead_letter_counts (
  endpoint_id text collate "C" not null,
  status text not null,
  failure_class text not null,
  tenant text collate "C" not null,
  count bigint not null,
  constraint dead_letter_counts_pkey PRIMARY KEY (endpoint_id, status, failure_class)
);

CREATE INDEX dead_letter_counts_tenant_idx ON public.dead_letter_counts USING btree (tenant, status);

create table dead_letter_jobs (
  id text collate "C" not null,
  action text not null,
  state text not null,
  status text,
  tenant text collate "C",
  endpoint_id text collate "C",
  failure_class text,
  failed_from timestamp with time zone,
  failed_to timestamp with time zone,
  reach text[] collate "C",
  rate integer,
  rows_total bigint not null,
  rows_done bigint not null default 0,
  rows_skipped bigint not null default 0,
  position json,
  snapshot_at timestamp with time zone not null default now(),
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  event_type text,
  due_at timestamp with time zone,
  outcome json,
  looked_at timestamp with time zone,
  look_at timestamp with time zone,
  settled_at timestamp with time zone,
  constraint dead_letter_jobs_pkey PRIMARY KEY (id),
  constraint dead_letter_jobs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'completed'::text, 'cancelled'::text])))
);

CREATE UNIQUE INDEX dead_letter_jobs_backlog_idx ON public.dead_letter_jobs USING btree (endpoint_id) WHERE ((action = 'discard_backlog'::text) AND (state = 'running'::text));

CREATE INDEX dead_letter_jobs_created_at_idx ON public.dead_letter_jobs USING btree (created_at, id);

CREATE INDEX dead_letter_jobs_look_idx ON public.dead_letter_jobs USING btree (look_at) WHERE (look_at IS NOT NULL);

CREATE INDEX dead_letter_jobs_open_idx ON public.dead_letter_jobs USING btree (created_at, id) WHERE (state = ANY (ARRAY['running'::text, 'paused'::text]));

create table deliveries (
  lane smallint not null,
  id text collate "C" not null,
  incident_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  tenant text collate "C" not null,
  event_type text not null,
  target text not null,
  idempotency_key text collate "C" not null,
  status text not null default 'queued'::text,
  version integer not null default 0,
  attempts integer not null default 0,
  max_attempts integer not null,
  schedule_from integer not null default 0,
  next_attempt_at timestamp with time zone default now(),
  held_by text,
  is_probe boolean not null default false,
  lease bigint,
  leased_until timestamp with time zone,
  last_status integer,
  failure_class text,
  error text,
  created_at timestamp with time zone not null default now(),
  last_attempt_at timestamp with time zone,
  finished_at timestamp with time zone,
  throttled_since timestamp with time zone,
  job_id text collate "C",
  replay_of text collate "C",
  replay_id text collate "C",
  sequence bigint default ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint,
  order_key text collate "C",
  order_state text,
  size_bytes integer,
  constraint deliveries_pkey PRIMARY KEY (lane, id),
  constraint deliveries_abandoned_check CHECK (((status <> 'abandoned'::text) OR (attempts >= 1) OR (COALESCE(failure_class, ''::text) = ANY (ARRAY['endpoint_disabled'::text, 'erased'::text, 'expired'::text])))) NOT VALID,
  constraint deliveries_next_attempt_check CHECK (((next_attempt_at IS NOT NULL) = (status = ANY (ARRAY['queued'::text, 'pending'::text])))),
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'pending'::text, 'abandoned'::text, 'delivered'::text, 'discarded'::text])))
) with (fillfactor=45);

CREATE INDEX dead_letters_endpoint_idx ON public.deliveries USING btree (endpoint_id, status, last_attempt_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX dead_letters_group_idx ON public.deliveries USING btree (endpoint_id, status, failure_class, last_attempt_at) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX dead_letters_idx ON public.deliveries USING btree (status, last_attempt_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX dead_letters_incident_idx ON public.deliveries USING btree (created_at, incident_id) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX dead_letters_replay_idx ON public.deliveries USING btree (incident_id) WHERE ((status = ANY (ARRAY['pending'::text, 'abandoned'::text])) AND (replay_id IS NOT NULL));

CREATE INDEX dead_letters_tenant_idx ON public.deliveries USING btree (tenant, status, last_attempt_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX dead_letters_tenant_incident_idx ON public.deliveries USING btree (tenant, created_at, incident_id) WHERE (status = ANY (ARRAY['pending'::text, 'abandoned'::text]));

CREATE INDEX deliveries_behind_idx ON public.deliveries USING btree (endpoint_id, order_key, sequence) WHERE ((order_state = ANY (ARRAY['waits'::text, 'joins'::text])) AND (status = 'queued'::text));

CREATE INDEX deliveries_created_at_idx ON public.deliveries USING btree (created_at, id);

CREATE INDEX deliveries_due_idx ON public.deliveries USING btree (lane, endpoint_id, next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX deliveries_endpoint_idx ON public.deliveries USING btree (endpoint_id, created_at, id);

CREATE INDEX deliveries_fresh_idx ON public.deliveries USING btree (lane, endpoint_id, next_attempt_at) WHERE ((next_attempt_at IS NOT NULL) AND (last_attempt_at IS NULL));

CREATE INDEX deliveries_incident_idx ON public.deliveries USING btree (incident_id);

CREATE INDEX deliveries_job_idx ON public.deliveries USING btree (job_id, created_at, id) WHERE (job_id IS NOT NULL);

CREATE INDEX deliveries_passing_idx ON public.deliveries USING btree ((((order_state = 'joins'::text) OR (status = ANY (ARRAY['delivered'::text, 'discarded'::text])) OR (COALESCE(failure_class, ''::text) = 'erased'::text))), endpoint_id, order_key) WHERE ((order_state = 'joins'::text) OR ((order_state = 'head'::text) AND (status <> 'queued'::text)));

CREATE INDEX deliveries_probe_idx ON public.deliveries USING btree (lane, endpoint_id) WHERE (is_probe AND (next_attempt_at IS NOT NULL));

CREATE INDEX deliveries_tenant_idx ON public.deliveries USING btree (tenant, created_at, id);

CREATE INDEX deliveries_tried_idx ON public.deliveries USING btree (lane, endpoint_id, next_attempt_at) WHERE ((next_attempt_at IS NOT NULL) AND (last_attempt_at IS NOT NULL));

CREATE INDEX replayed_deliveries_idx ON public.deliveries USING btree (replay_id, status, created_at, id) WHERE (replay_id IS NOT NULL);

create table delivery_attempts (
  lane smallint not null,
  delivery_id text collate "C" not null,
  number integer not null,
  started_at timestamp with time zone not null,
  duration_ms integer not null,
  target text not null,
  status integer,
  failure_class text,
  error text,
  response bytea,
  response_bytes integer,
  constraint delivery_attempts_pkey PRIMARY KEY (lane, delivery_id, number)
);

create table delivery_hours (
  hour timestamp with time zone not null,
  lane smallint not null,
  delivered bigint not null,
  failed bigint not null,
  abandoned bigint not null,
  constraint delivery_hours_pkey PRIMARY KEY (hour, lane)
) with (fillfactor=30);

create table delivery_memory (
  is_only boolean not null default true,
  forgotten_before timestamp with time zone not null,
  constraint delivery_memory_pkey PRIMARY KEY (is_only),
  constraint delivery_memory_only_check CHECK (is_only)
);

create table endpoint_attempts (
  lane smallint not null,
  endpoint_id text collate "C" not null,
  recent text[] collate "C" not null,
  constraint endpoint_attempts_pkey PRIMARY KEY (lane, endpoint_id)
) with (fillfactor=30);

create table endpoint_hours (
  lane smallint not null,
  endpoint_id text collate "C" not null,
  hour timestamp with time zone not null,
  delivered bigint not null,
  failed bigint not null,
  abandoned bigint not null,
  answer_times integer[],
  constraint endpoint_hours_pkey PRIMARY KEY (lane, endpoint_id, hour)
) with (fillfactor=70);

CREATE INDEX endpoint_hours_hour_idx ON public.endpoint_hours USING btree (hour);

create table enrichment_records (
  tenant text collate "C" not null,
  store text collate "C" not null,
  occurred_at timestamp with time zone not null,
  event_id text collate "C" not null,
  recorded_at timestamp with time zone not null,
  kind text collate "C",
  source text collate "C",
  model text collate "C",
  confidence text collate "C",
  bytes integer not null,
  digest bigint not null,
  enrichment json not null,
  constraint enrichment_records_pkey PRIMARY KEY (tenant, store, occurred_at, event_id)
) partition by RANGE (occurred_at);

CREATE INDEX enrichment_records_event_idx ON ONLY public.enrichment_records USING brin (hashtextextended(event_id, (0)::bigint) int8_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.005')) WITH (pages_per_range='8');

create table erasures (
  id text collate "C" not null,
  tenant text collate "C" not null,
  receipt jsonb not null,
  backup_key_ended_at timestamp with time zone,
  backup_key_removed_at timestamp with time zone,
  constraint erasures_pkey PRIMARY KEY (id)
);

CREATE INDEX erasures_backup_key_idx ON public.erasures USING btree (tenant) WHERE ((backup_key_ended_at IS NOT NULL) AND (backup_key_removed_at IS NULL));

create table event_types (
  type text collate "C" not null,
  description text,
  schema json,
  sample json,
  deprecated boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint event_types_pkey PRIMARY KEY (type)
);

create table export_links (
  hash bytea not null,
  token_id text collate "C" not null,
  request json not null,
  expires_at timestamp with time zone not null,
  constraint export_links_pkey PRIMARY KEY (hash)
);

create table export_parts (
  tenant text collate "C" not null,
  export_id text collate "C" not null,
  number integer not null,
  first_store text collate "C" not null,
  first_day date not null,
  last_store text collate "C" not null,
  last_day date not null,
  min_day date not null,
  max_day date not null,
  object_key text collate "C",
  rows bigint,
  digest numeric(20,0),
  size_bytes bigint,
  sha256 bytea,
  body_bytes bigint,
  layout json,
  constraint export_parts_pkey PRIMARY KEY (tenant, export_id, number)
);

create table export_schedules (
  tenant text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  cron text not null,
  format text collate "C" not null,
  request json not null,
  target text not null,
  access_key_id text,
  secret bytea,
  enabled boolean not null default true,
  due_at timestamp with time zone,
  delivered_before timestamp with time zone,
  created_by text not null,
  token_id text collate "C" not null,
  created_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  webhook boolean not null default false,
  typed_schema json,
  constraint export_schedules_pkey PRIMARY KEY (tenant, id)
);

CREATE INDEX export_schedules_due_idx ON public.export_schedules USING btree (due_at) WHERE ((due_at IS NOT NULL) AND (deleted_at IS NULL));

CREATE INDEX export_schedules_id_idx ON public.export_schedules USING btree (id);

CREATE UNIQUE INDEX export_schedules_name_key ON public.export_schedules USING btree (tenant, name) WHERE (deleted_at IS NULL);

create table exports (
  tenant text collate "C" not null,
  id text collate "C" not null,
  format text collate "C" not null,
  state text collate "C" not null default 'queued'::text,
  request json not null,
  file_name text not null,
  slice json not null,
  recorded_before timestamp with time zone not null,
  version_id text collate "C",
  version json,
  options json not null,
  rows_total bigint,
  bytes_total bigint,
  digest numeric(20,0),
  parts_total integer,
  rows_done bigint not null default 0,
  size_bytes bigint not null default 0,
  sha256 bytea,
  ends json,
  manifest json,
  requested_by text not null,
  token_id text collate "C" not null,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  expires_at timestamp with time zone,
  files_removed_at timestamp with time zone,
  error_code text collate "C",
  error text,
  runner text collate "C",
  attempts integer not null default 0,
  taken_at timestamp with time zone,
  rows_before bigint not null default 0,
  failures integer not null default 0,
  not_before timestamp with time zone,
  waiting_since timestamp with time zone,
  due_at timestamp with time zone,
  typed_schema json,
  schedule_id text collate "C",
  schedule_name text,
  delivered_to text,
  delivery json,
  delivered_at timestamp with time zone,
  place text,
  place_key_id text,
  place_secret bytea,
  untold boolean not null default false,
  constraint exports_pkey PRIMARY KEY (tenant, id)
);

CREATE INDEX exports_created_at_idx ON public.exports USING btree (created_at, id);

CREATE INDEX exports_files_idx ON public.exports USING btree (expires_at) WHERE (files_removed_at IS NULL);

CREATE INDEX exports_finished_at_idx ON public.exports USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX exports_id_idx ON public.exports USING btree (id);

CREATE INDEX exports_open_idx ON public.exports USING btree (created_at, id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX exports_place_idx ON public.exports USING btree (tenant, id) WHERE (place_secret IS NOT NULL);

CREATE INDEX exports_prunable_idx ON public.exports USING btree (created_at) WHERE ((files_removed_at IS NOT NULL) AND ((delivered_to IS NULL) OR (rows_total = 0) OR (delivery IS NULL)));

CREATE INDEX exports_schedule_idx ON public.exports USING btree (schedule_id, created_at, id) WHERE (schedule_id IS NOT NULL);

CREATE INDEX exports_tenant_created_at_idx ON public.exports USING btree (tenant, created_at, id);

CREATE INDEX exports_turns_idx ON public.exports USING btree (token_id, taken_at);

CREATE INDEX exports_unmarked_idx ON public.exports USING btree (tenant, id) WHERE ((delivery IS NOT NULL) AND (delivered_at IS NULL));

CREATE INDEX exports_untold_idx ON public.exports USING btree (tenant, id) WHERE (untold AND ((state = 'failed'::text) OR (delivered_at IS NOT NULL)));

create table iceberg_manifests (
  scope text collate "C" not null,
  tenant text collate "C" not null,
  snapshot_id bigint not null,
  until_id bigint,
  object_key text collate "C" not null,
  size_bytes bigint not null,
  oldest_id bigint not null,
  fingerprint text not null,
  files json not null,
  counts json not null,
  constraint iceberg_manifests_pkey PRIMARY KEY (scope, tenant, snapshot_id)
);

CREATE INDEX iceberg_manifests_key_idx ON public.iceberg_manifests USING btree (object_key);

create table iceberg_snapshots (
  scope text collate "C" not null,
  id bigint not null,
  parent_id bigint not null,
  manifest_list text collate "C" not null,
  summary json not null,
  readable_until timestamp with time zone,
  asked_at timestamp with time zone not null default now(),
  switched_at timestamp with time zone,
  constraint iceberg_snapshots_parent_key UNIQUE (scope, parent_id),
  constraint iceberg_snapshots_pkey PRIMARY KEY (scope, id)
);

create table incident_keys (
  tenant text collate "C" not null,
  idempotency_key text collate "C" not null,
  incident_id text collate "C" not null,
  digest bytea not null,
  created_at timestamp with time zone not null default now(),
  constraint incident_keys_pkey PRIMARY KEY (tenant, idempotency_key)
);

CREATE INDEX incident_keys_created_at_idx ON public.incident_keys USING btree (created_at);

CREATE INDEX incident_keys_incident_idx ON public.incident_keys USING btree (incident_id);

create table incidents (
  id text collate "C" not null,
  tenant text collate "C" not null,
  store text collate "C",
  type text not null,
  occurred_at timestamp with time zone not null,
  body text not null,
  created_at timestamp with time zone not null default now(),
  request_id text collate "C",
  trace_parent text collate "C",
  erased_at timestamp with time zone,
  body_bytes integer,
  filtered_out text[],
  order_group text collate "C",
  held_back text[],
  constraint incidents_pkey PRIMARY KEY (id)
);

CREATE INDEX incidents_created_at_idx ON public.incidents USING btree (created_at, id);

CREATE INDEX incidents_tenant_idx ON public.incidents USING btree (tenant, created_at, id);

create table lanes (
  lane smallint not null,
  keeper bigint,
  silence_seconds double precision,
  constraint lanes_pkey PRIMARY KEY (lane)
);

create table leaf_days (
  tenant text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_digest numeric(20,0) not null default 0,
  cold_stored_bytes bigint not null default 0,
  has_hot boolean not null generated always as (count > cold_count) stored,
  constraint leaf_days_pkey PRIMARY KEY (tenant, store, day)
) with (fillfactor=50);

CREATE INDEX leaf_days_cold_idx ON public.leaf_days USING btree (tenant, day) WHERE (NOT has_hot);

CREATE INDEX leaf_days_hot_idx ON public.leaf_days USING btree (tenant, day) WHERE has_hot;

create table leaf_months (
  tenant text collate "C" not null,
  store text collate "C" not null,
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint leaf_months_pkey PRIMARY KEY (tenant, store, month)
) with (fillfactor=50);

CREATE INDEX leaf_months_month_idx ON public.leaf_months USING btree (month, tenant, store);

CREATE INDEX leaf_months_store_idx ON public.leaf_months USING btree (store, tenant, month);

create table leaf_stores (
  tenant text collate "C" not null,
  store text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint leaf_stores_pkey PRIMARY KEY (tenant, store)
) with (fillfactor=50);

CREATE INDEX leaf_stores_store_idx ON public.leaf_stores USING btree (store, tenant);

create table leaf_tenants (
  tenant text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  stored_at timestamp with time zone,
  constraint leaf_tenants_pkey PRIMARY KEY (tenant)
) with (fillfactor=50);

create table limit_use (
  name text collate "C" not null,
  subject text collate "C" not null,
  used double precision not null,
  at timestamp with time zone not null,
  constraint limit_use_pkey PRIMARY KEY (name, subject)
);

create table move_days (
  tenant text collate "C" not null,
  move_id text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  constraint move_days_pkey PRIMARY KEY (tenant, move_id, store, day)
);

create table move_segments (
  tenant text collate "C" not null,
  move_id text collate "C" not null,
  segment_id text collate "C" not null,
  role text collate "C" not null,
  object_key text collate "C" not null,
  size_bytes bigint,
  sha256 bytea,
  held json,
  constraint move_segments_pkey PRIMARY KEY (tenant, move_id, segment_id)
);

create table moves (
  tenant text collate "C" not null,
  id text collate "C" not null,
  run_id text collate "C",
  kind text collate "C" not null,
  state text collate "C" not null default 'planned'::text,
  first_day date not null,
  last_day date not null,
  request json,
  source_count bigint,
  source_bytes bigint,
  source_digest numeric(20,0),
  object_count bigint,
  object_bytes bigint,
  object_digest numeric(20,0),
  gone_count bigint not null default 0,
  gone_bytes bigint not null default 0,
  gone_digest numeric(20,0) not null default 0,
  stored_bytes bigint,
  planned_at timestamp with time zone not null default now(),
  copied_at timestamp with time zone,
  verified_at timestamp with time zone,
  switched_at timestamp with time zone,
  removed_at timestamp with time zone,
  failed_at timestamp with time zone,
  failed_in text collate "C",
  error_code text collate "C",
  error text,
  runner text collate "C" not null,
  effects json,
  scrub_due text[],
  scrubbed json,
  constraint moves_pkey PRIMARY KEY (tenant, id)
);

CREATE INDEX moves_id_idx ON public.moves USING btree (id);

CREATE INDEX moves_imports_idx ON public.moves USING btree (planned_at, id) WHERE (kind = 'import'::text);

CREATE INDEX moves_open_idx ON public.moves USING btree (tenant, planned_at) WHERE (state <> ALL (ARRAY['removed'::text, 'failed'::text]));

CREATE INDEX moves_planned_at_idx ON public.moves USING btree (planned_at, id);

CREATE INDEX moves_switched_at_idx ON public.moves USING btree (switched_at) WHERE (switched_at IS NOT NULL);

CREATE INDEX moves_tenant_planned_at_idx ON public.moves USING btree (tenant, planned_at, id);

create table notice_sends (
  id text collate "C" not null,
  target_id text collate "C" not null,
  items json not null,
  more integer not null default 0,
  is_test boolean not null default false,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone,
  delivered boolean,
  error text,
  status integer,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint notice_sends_pkey PRIMARY KEY (id)
);

CREATE INDEX notice_sends_created_at_idx ON public.notice_sends USING btree (created_at, id);

CREATE INDEX notice_sends_due_idx ON public.notice_sends USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX notice_sends_target_idx ON public.notice_sends USING btree (target_id, created_at, id);

create table notices (
  id text collate "C" not null,
  kind text not null,
  subject text collate "C" not null,
  ref text collate "C" not null,
  severity text not null,
  tenant text collate "C",
  title text not null,
  advice text not null,
  place text not null,
  since timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  told_at timestamp with time zone,
  missing_since timestamp with time zone,
  ended_at timestamp with time zone,
  constraint notices_pkey PRIMARY KEY (id)
);

CREATE INDEX notices_created_at_idx ON public.notices USING btree (created_at, id);

CREATE UNIQUE INDEX notices_event_idx ON public.notices USING btree (kind, subject) WHERE (kind = ANY (ARRAY['export_done'::text, 'export_failed'::text]));

CREATE INDEX notices_event_since_idx ON public.notices USING btree (since) WHERE (kind = ANY (ARRAY['export_done'::text, 'export_failed'::text]));

CREATE UNIQUE INDEX notices_open_idx ON public.notices USING btree (kind, subject) WHERE (ended_at IS NULL);

create table notify_targets (
  id text collate "C" not null,
  kind text not null,
  address text not null,
  secret bytea,
  kinds text[],
  min_severity text not null,
  enabled boolean not null default true,
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  briefed_at timestamp with time zone default now(),
  tenant text collate "C",
  tenant_kinds text[],
  constraint notify_targets_pkey PRIMARY KEY (id)
);

create table object_removals (
  tenant text collate "C" not null,
  object_key text collate "C" not null,
  move_id text collate "C" not null,
  remove_after timestamp with time zone not null,
  constraint object_removals_pkey PRIMARY KEY (tenant, object_key)
);

CREATE INDEX object_removals_remove_after_idx ON public.object_removals USING btree (remove_after);

create table order_keys (
  endpoint_id text collate "C" not null,
  key text collate "C" not null,
  head text collate "C" not null,
  sequence bigint not null,
  added integer not null,
  constraint order_keys_pkey PRIMARY KEY (endpoint_id, key)
) with (fillfactor=50);

create table portal_links (
  id text collate "C" not null,
  hash bytea not null,
  tenant text collate "C" not null,
  scope text collate "C" not null,
  subject text,
  token_id text collate "C" not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  opened_at timestamp with time zone,
  session_hash bytea,
  address text,
  user_agent text,
  revoked_at timestamp with time zone,
  constraint portal_links_pkey PRIMARY KEY (id)
);

CREATE INDEX portal_links_expires_at_idx ON public.portal_links USING btree (expires_at);

CREATE UNIQUE INDEX portal_links_hash_idx ON public.portal_links USING btree (hash);

CREATE UNIQUE INDEX portal_links_session_idx ON public.portal_links USING btree (session_hash);

create table processes (
  id text collate "C" not null,
  host text not null,
  pid integer not null,
  version text not null,
  node text not null,
  roles text[] not null,
  url text,
  settings jsonb not null,
  since timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  clock_ahead_millis bigint,
  disk_free_bytes bigint,
  disk_total_bytes bigint,
  store_state text,
  secret_keys text[] not null default '{}'::text[],
  command text not null default 'serve'::text,
  migration text collate "C",
  constraint processes_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create table pull_places (
  endpoint_id text collate "C" not null,
  position bigint not null,
  polled_at timestamp with time zone not null default now(),
  polled_by text,
  constraint pull_places_pkey PRIMARY KEY (endpoint_id)
);

create table pulled_deliveries (
  endpoint_id text collate "C" not null,
  position bigint not null,
  lane smallint not null,
  delivery_id text collate "C" not null,
  handed_out_at timestamp with time zone not null default now(),
  constraint pulled_deliveries_delivery_key UNIQUE (delivery_id),
  constraint pulled_deliveries_pkey PRIMARY KEY (endpoint_id, "position")
);

create table record_counts (
  tenant text collate "C" not null,
  id text collate "C" not null,
  state text collate "C" not null default 'queued'::text,
  request json not null,
  slice json not null,
  total bigint not null,
  after_store text collate "C",
  after_day date,
  looked bigint not null default 0,
  count bigint not null default 0,
  bytes bigint not null default 0,
  error text,
  requested_by text not null,
  token_id text collate "C" not null,
  requested_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  worked_at timestamp with time zone,
  not_before timestamp with time zone,
  constraint record_counts_pkey PRIMARY KEY (id)
);

CREATE INDEX record_counts_open_idx ON public.record_counts USING btree (tenant) WHERE (finished_at IS NULL);

CREATE INDEX record_counts_requested_at_idx ON public.record_counts USING btree (requested_at, id);

create table record_imports (
  id text collate "C" not null,
  digest text collate "C" not null,
  state text collate "C" not null default 'running'::text,
  tenant text collate "C",
  tenants text[],
  requested_by text not null,
  token_id text collate "C" not null,
  requested_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  heard_at timestamp with time zone not null default now(),
  stopped text,
  files integer not null,
  total bigint,
  at_file integer not null default 0,
  at_row bigint not null default 0,
  rows bigint not null default 0,
  sent bigint not null default 0,
  taken bigint not null default 0,
  rejected bigint not null default 0,
  conflicts bigint not null default 0,
  stored bigint not null default 0,
  cold bigint not null default 0,
  cold_days integer not null default 0,
  constraint record_imports_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX record_imports_open_idx ON public.record_imports USING btree (digest) WHERE (finished_at IS NULL);

CREATE INDEX record_imports_requested_at_idx ON public.record_imports USING btree (requested_at, id);

create table replays (
  id text collate "C" not null,
  state text not null,
  tenant text collate "C" not null,
  endpoint_id text collate "C" not null,
  selection text not null,
  reported_from timestamp with time zone not null,
  reported_until timestamp with time zone not null,
  incident_id text collate "C",
  event_types text[],
  keeps_ids boolean not null,
  ignores_filters boolean not null,
  rate integer,
  max_attempts integer not null,
  rows_total bigint not null,
  rows_done bigint not null default 0,
  rows_skipped bigint not null default 0,
  place_at timestamp with time zone,
  place_id text collate "C",
  ready_at timestamp with time zone,
  error text,
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  outcome json,
  looked_at timestamp with time zone,
  look_at timestamp with time zone default now(),
  settled_at timestamp with time zone,
  constraint replays_pkey PRIMARY KEY (id),
  constraint replays_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'completed'::text, 'cancelled'::text])))
);

CREATE INDEX replays_created_at_idx ON public.replays USING btree (created_at, id);

CREATE INDEX replays_look_idx ON public.replays USING btree (look_at) WHERE (look_at IS NOT NULL);

CREATE INDEX replays_open_idx ON public.replays USING btree (endpoint_id) WHERE (state = ANY (ARRAY['running'::text, 'paused'::text]));

create table restored_files (
  path text collate "C" not null,
  constraint restored_files_pkey PRIMARY KEY (path)
);

create table restores (
  backup_id text collate "C" not null,
  place text not null,
  taken_at timestamp with time zone not null,
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint restores_pkey PRIMARY KEY (backup_id)
);

create table retention_policies (
  tenant text collate "C" not null,
  hot_days integer not null,
  delete_days integer,
  hold boolean not null default false,
  updated_at timestamp with time zone not null default now(),
  updated_by text,
  constraint retention_policies_pkey PRIMARY KEY (tenant),
  constraint retention_policies_days_check CHECK (((hot_days >= 0) AND (delete_days >= 1)))
);

create table retention_runs (
  id text collate "C" not null,
  state text collate "C" not null default 'queued'::text,
  tenant text collate "C",
  tenants text[] collate "C",
  before date,
  requested_by text,
  scheduled_for timestamp with time zone,
  requested_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  total_count bigint,
  moved_count bigint not null default 0,
  moved_bytes bigint not null default 0,
  deleted_count bigint not null default 0,
  failed_moves integer not null default 0,
  busy_tenants integer not null default 0,
  error text,
  delete_versioned boolean not null default false,
  kept_count bigint not null default 0,
  freed_bytes bigint not null default 0,
  is_divided boolean not null default false,
  waiting_since timestamp with time zone,
  waiting_for text,
  constraint retention_runs_scheduled_for_key UNIQUE (scheduled_for),
  constraint retention_runs_pkey PRIMARY KEY (id)
);

CREATE INDEX retention_runs_open_idx ON public.retention_runs USING btree (requested_at) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

create table saved_views (
  owner_id text collate "C" not null,
  name text collate "C" not null,
  address text not null,
  tenant text collate "C",
  is_shared boolean not null,
  updated_at timestamp with time zone not null default now(),
  constraint saved_views_pkey PRIMARY KEY (owner_id, name)
);

create table schema_migrations (
  name text collate "C" not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  needs text collate "C",
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table segment_days (
  tenant text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  segment_id text collate "C" not null,
  first_row bigint not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  stored_bytes bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint segment_days_pkey PRIMARY KEY (tenant, store, day, segment_id)
);

CREATE INDEX segment_days_segment_idx ON public.segment_days USING btree (tenant, segment_id);

create table segments (
  tenant text collate "C" not null,
  id text collate "C" not null,
  object_key text collate "C" not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_day date not null,
  last_day date not null,
  created_at timestamp with time zone not null default now(),
  pieces json,
  verified_at timestamp with time zone,
  event_filter bytea,
  constraint segments_object_key_key UNIQUE (tenant, object_key),
  constraint segments_pkey PRIMARY KEY (tenant, id)
);

create table sessions (
  hash bytea not null,
  token_id text collate "C" not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  confirmed_until timestamp with time zone,
  session_id text collate "C" not null default ('ses_'::text || replace((gen_random_uuid())::text, '-'::text, ''::text)),
  address text,
  user_agent text,
  idle_at timestamp with time zone,
  id_token text,
  constraint sessions_pkey PRIMARY KEY (hash)
);

CREATE INDEX sessions_expires_at_idx ON public.sessions USING btree (expires_at);

CREATE UNIQUE INDEX sessions_session_id_idx ON public.sessions USING btree (session_id);

CREATE INDEX sessions_token_idx ON public.sessions USING btree (token_id);

create table sign_in_links (
  hash bytea not null,
  token_id text collate "C" not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_links_pkey PRIMARY KEY (hash)
);

create table signing_keys (
  name text collate "C" not null,
  key bytea not null,
  constraint signing_keys_pkey PRIMARY KEY (name)
);

create table store_fence (
  singleton boolean not null default true,
  confirmed text,
  pending text[] not null default '{}'::text[],
  version bigint not null default 0,
  constraint store_fence_pkey PRIMARY KEY (singleton),
  constraint store_fence_singleton_check CHECK (singleton)
);

create table stored_days (
  tenant text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  hot_count bigint,
  hot_bytes bigint,
  cold_count bigint,
  cold_bytes bigint,
  constraint stored_days_pkey PRIMARY KEY (tenant, day)
);

CREATE INDEX stored_days_day_idx ON public.stored_days USING btree (day, count DESC, tenant);

create table stored_hours (
  tenant text collate "C" not null,
  hour timestamp with time zone not null,
  count bigint not null,
  bytes bigint not null,
  constraint stored_hours_pkey PRIMARY KEY (tenant, hour)
) with (fillfactor=50);

CREATE INDEX stored_hours_hour_idx ON public.stored_hours USING btree (hour);

create table stored_parts (
  tenant text collate "C" not null,
  stored_at timestamp with time zone not null,
  store text collate "C" not null,
  day date not null,
  recorded_at timestamp with time zone not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  count bigint not null,
  spans tstzmultirange,
  constraint stored_parts_recorded_key UNIQUE (tenant, recorded_at, store, day),
  constraint stored_parts_pkey PRIMARY KEY (tenant, stored_at, store, day)
);

CREATE INDEX stored_parts_stored_at_idx ON public.stored_parts USING brin (stored_at);

create table tags (
  tenant text collate "C" not null,
  id text collate "C" not null,
  store text collate "C",
  first_day date,
  last_day date,
  dataset text collate "C" not null,
  note text,
  created_at timestamp with time zone not null default now(),
  created_by text not null,
  constraint tags_window_key UNIQUE NULLS NOT DISTINCT (tenant, store, first_day, last_day, dataset),
  constraint tags_pkey PRIMARY KEY (tenant, id),
  constraint tags_days_check CHECK ((first_day <= last_day))
);

CREATE INDEX tags_created_at_idx ON public.tags USING btree (created_at, id);

CREATE INDEX tags_id_idx ON public.tags USING btree (id);

create table tenant_days (
  tenant text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  has_hot boolean not null generated always as (count > cold_count) stored,
  constraint tenant_days_pkey PRIMARY KEY (tenant, day)
) with (fillfactor=50);

CREATE INDEX tenant_days_hot_idx ON public.tenant_days USING btree (tenant, day) WHERE has_hot;

create table tenant_months (
  tenant text collate "C" not null,
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  cold_count bigint not null default 0,
  cold_bytes bigint not null default 0,
  cold_stored_bytes bigint not null default 0,
  constraint tenant_months_pkey PRIMARY KEY (tenant, month)
) with (fillfactor=50);

CREATE INDEX tenant_months_month_idx ON public.tenant_months USING btree (month, tenant);

create table verifications (
  id text collate "C" not null,
  state text collate "C" not null default 'queued'::text,
  tenant text collate "C",
  tenants text[] collate "C",
  requested_by text,
  requested_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  segments_total integer,
  segments_done integer not null default 0,
  bytes_total bigint,
  bytes_done bigint not null default 0,
  records_done bigint not null default 0,
  problem_count integer not null default 0,
  problems json not null default '[]'::json,
  error text,
  since timestamp with time zone,
  sample_percent double precision,
  is_divided boolean not null default false,
  waiting_since timestamp with time zone,
  waiting_for text,
  constraint verifications_pkey PRIMARY KEY (id)
);

CREATE INDEX verifications_requested_at_idx ON public.verifications USING btree (requested_at, id);

create table verified_tenants (
  tenant text collate "C" not null,
  verified_at timestamp with time zone not null,
  constraint verified_tenants_pkey PRIMARY KEY (tenant)
);

create table webhook_endpoints (
  id text collate "C" not null,
  lane smallint not null,
  tenant text collate "C" not null,
  url text not null,
  description text,
  event_types text[] not null,
  enabled boolean not null,
  disabled_reason text,
  max_attempts integer,
  retry_schedule integer[],
  rate_limit integer,
  secret bytea not null,
  failures_in_row integer not null default 0,
  paused_until timestamp with time zone,
  pauses_in_row integer not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_by text,
  previous_secrets bytea[] not null default '{}'::bytea[],
  previous_secrets_until timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  failing_since timestamp with time zone,
  disable_after_days smallint,
  throttled_until timestamp with time zone,
  header_names text[] not null default '{}'::text[],
  headers bytea,
  event_patterns text[],
  stores text[],
  filter text,
  filter_key uuid,
  uid text collate "C",
  name text,
  labels json not null default '{}'::json,
  delivery jsonb,
  delivery_keys bytea,
  ordered text,
  when_stuck text not null default 'block'::text,
  held_back_from timestamp with time zone,
  held_back_until timestamp with time zone,
  constraint webhook_endpoints_pkey PRIMARY KEY (id),
  constraint webhook_endpoints_disabled_check CHECK (((disabled_at IS NULL) = enabled))
);

CREATE INDEX webhook_endpoints_certificate_idx ON public.webhook_endpoints USING btree (LEAST((delivery #>> '{tls,certificate,expires_at}'::text[]), (delivery #>> '{tls,ca,expires_at}'::text[])) COLLATE "C") WHERE ((deleted_at IS NULL) AND ((LEAST((delivery #>> '{tls,certificate,expires_at}'::text[]), (delivery #>> '{tls,ca,expires_at}'::text[])) COLLATE "C") IS NOT NULL));

CREATE INDEX webhook_endpoints_held_back_idx ON public.webhook_endpoints USING btree (id) WHERE (held_back_from IS NOT NULL);

CREATE INDEX webhook_endpoints_held_idx ON public.webhook_endpoints USING btree (tenant, id) WHERE ((deleted_at IS NULL) AND (disabled_reason = 'operator'::text));

CREATE INDEX webhook_endpoints_passing_idx ON public.webhook_endpoints USING btree (id) WHERE (when_stuck = 'pass'::text);

CREATE INDEX webhook_endpoints_pull_idx ON public.webhook_endpoints USING btree (id) WHERE ((url = 'pull:'::text) AND (deleted_at IS NULL));

CREATE INDEX webhook_endpoints_tenant_idx ON public.webhook_endpoints USING btree (tenant, id);

CREATE INDEX webhook_endpoints_trouble_idx ON public.webhook_endpoints USING btree (tenant, id) WHERE ((deleted_at IS NULL) AND ((paused_until IS NOT NULL) OR (failures_in_row > 0) OR (disabled_reason = 'gone'::text)));

CREATE UNIQUE INDEX webhook_endpoints_uid_idx ON public.webhook_endpoints USING btree (tenant, uid) WHERE ((deleted_at IS NULL) AND (uid IS NOT NULL));

create table work_shares (
  job text collate "C" not null,
  number integer not null,
  work json not null,
  mark text collate "C",
  constraint work_shares_pkey PRIMARY KEY (job, number)
);

CREATE OR REPLACE FUNCTION public.audit_text(entry audit_log)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select json_build_array(
    entry.id, to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), entry.token_id,
    entry.token_name, entry.action, entry.target, entry.tenant, entry.tenants, entry.request_id,
    entry.address, entry.user_agent, entry.before, entry.after)::text
$function$;

CREATE OR REPLACE FUNCTION public.compare_stored(ordinals integer[], tenants text[], stores text[], times timestamp with time zone[], event_ids text[], digests bigint[], kinds text[], sources text[], models text[], confidences text[], enrichments text[])
 RETURNS TABLE(ordinal integer, is_same boolean)
 LANGUAGE plpgsql
 STABLE
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.is_spread(name regclass)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then
    return false;
  end if;
  return exists (select from pg_dist_partition where logicalrelid = name);
end $function$;

CREATE OR REPLACE FUNCTION public.link_audit_entry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  with chain as (
    update audit_chain set last_place = last_place + 1,
      last_hash = sha256(last_hash || convert_to(audit_text(new), 'UTF8'))
    returning last_place, last_hash
  )
  insert into audit_links (place, entry_id, hash) select last_place, new.id, last_hash from chain;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.next_instant(at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (at + '00:00:00.000001'::interval);

CREATE OR REPLACE FUNCTION public.record_digest(tenant text, store text, occurred_at timestamp with time zone, event_id text, kind text, source text, model text, confidence text, enrichment json)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select ('x' || left(md5(concat_ws(
    e'\x1f', tenant, store, (extract(epoch from occurred_at) * 1000000)::bigint, event_id,
    coalesce(kind, e'\x01'), coalesce(source, e'\x01'), coalesce(model, e'\x01'),
    coalesce(confidence, e'\x01'), enrichment::text
  )), 16))::bit(64)::bigint
$function$;

CREATE OR REPLACE FUNCTION public.records_of_event(id text)
 RETURNS SETOF enrichment_records
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET max_parallel_workers_per_gather TO '0'
AS $function$
    select * from enrichment_records where hashtextextended(event_id, 0) = hashtextextended(id, 0)
  $function$;

CREATE OR REPLACE FUNCTION public.refuse(code text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = code, message = 'refused: ' || code;
end $function$;

CREATE OR REPLACE FUNCTION public.require_token(token_id text, version xid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if not pg_try_advisory_xact_lock_shared(7340142) then
    return refuse('SV002');
  end if;
  return exists (
    select from access_tokens
    where id = token_id and xmin = version and revoked_at is null and coalesce(expires_at > now(), true)
  ) or refuse('SV002');
end $function$;

CREATE OR REPLACE FUNCTION public.table_bytes(name regclass)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if is_spread(name) then
    return citus_total_relation_size(name);
  end if;
  return pg_total_relation_size(name);
end $function$;

CREATE OR REPLACE FUNCTION public.table_rows(name regclass, OUT held bigint, OUT live bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
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
end $function$;
