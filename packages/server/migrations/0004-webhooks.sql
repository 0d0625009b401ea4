-- Incident webhooks: endpoints, incidents, deliveries with their attempts, and the dead-letter queue,
-- which is not a second table but the deliveries that are pending or abandoned.
-- The previous release survives this migration: it knows none of these tables.

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
  -- operator, or gone (the receiver answered 410); null while enabled
  disabled_reason text,
  -- null: the default of the service
  max_attempts integer,
  -- seconds before attempt 2, 3, …; the last repeats; null: the default schedule
  retry_schedule integer[],
  -- deliveries a second; null: no limit
  rate_limit integer,
  -- encrypted (AES-256-GCM) under SVC_SECRET_KEY
  secret bytea not null,
  previous_secret bytea,
  previous_secret_until timestamptz,
  -- the breaker
  failures_in_row integer not null default 0,
  paused_until timestamptz,
  -- how often it has opened without a success in between: each pause is longer
  pauses_in_row integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- kept for the history of its deliveries
  deleted_at timestamptz,
  constraint webhook_endpoints_pkey primary key (id)
);
create index webhook_endpoints_tenant_idx on webhook_endpoints (tenant, id);

create table incidents (
  id text collate "C" not null,
  tenant text collate "C" not null,
  store text collate "C",
  type text not null,
  occurred_at timestamptz not null,
  -- what every delivery of it sends, on every attempt: {"type","timestamp","data"}
  body text not null,
  created_at timestamptz not null default now(),
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
  constraint deliveries_pkey primary key (lane, id),
  constraint deliveries_status_check
    check (status in ('queued', 'pending', 'abandoned', 'delivered', 'discarded')),
  constraint deliveries_next_attempt_check
    check ((next_attempt_at is not null) = (status in ('queued', 'pending'))),
  constraint deliveries_abandoned_check
    check (status <> 'abandoned' or attempts >= 1)
) with (fillfactor = 45);
-- A claim changes no column of an index, so the row stays on its page (HOT) if there is room for another
-- version of all rows of the page, which one claim may take: at 70 half of the claims stayed, now nearly all.
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
  constraint delivery_attempts_pkey primary key (lane, delivery_id, number)
);

-- Bulk work on the dead-letter queue, done in batches, resumed after a restart.
create table dead_letter_jobs (
  id text collate "C" not null,
  -- retry, or discard (what a deleted endpoint leaves behind)
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
