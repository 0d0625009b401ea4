-- The previous release survives this migration: it sends what replays have queued, though without the header webhook-replay.

-- Replays to an endpoint: what it never got, dead letters and what was delivered, by when it was reported. Done in
-- shares, each in one transaction with its place, so that a kill repeats nothing.
create table replays (
  id text collate "C" not null,
  -- running, paused, completed, cancelled
  state text not null,
  tenant text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- missed, failed, delivered, all
  selection text not null,
  -- incidents reported from then on, and before then
  reported_from timestamptz not null,
  reported_until timestamptz not null,
  -- one incident alone; null: all of the range
  incident_id text collate "C",
  -- null: any
  event_types text[],
  -- what was delivered comes under its old webhook-id
  keeps_ids boolean not null,
  -- the event types of the endpoint do not matter
  ignores_filters boolean not null,
  -- deliveries a second; null: as fast as the endpoint takes them
  rate integer,
  -- the number of attempts where the endpoint has none of its own
  max_attempts integer not null,
  -- as counted when it was asked for
  rows_total bigint not null,
  rows_done bigint not null default 0,
  -- an attempt was under way
  rows_skipped bigint not null default 0,
  -- the last incident that was looked at, in the order of reports
  place_at timestamptz,
  place_id text collate "C",
  -- not before then
  ready_at timestamptz,
  error text,
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint replays_pkey primary key (id),
  constraint replays_state_check check (state in ('running', 'paused', 'completed', 'cancelled'))
);
create index replays_created_at_idx on replays (created_at, id);
create index replays_open_idx on replays (endpoint_id) where state in ('running', 'paused');

alter table deliveries
  -- the webhook-id under which it was sent before, which each request names
  add column replay_of text collate "C",
  -- the replay that made it, or re-armed it last
  add column replay_id text collate "C";
create index deliveries_replay_idx on deliveries (replay_id, status) where replay_id is not null;
-- Dead letters that were made later than their incidents, which the list of incidents looks up.
create index dead_letters_replay_idx on deliveries (incident_id)
  where status in ('pending', 'abandoned') and replay_id is not null;

-- What was made before this time may be forgotten: nobody knows whether it was delivered. One row.
create table delivery_memory (
  is_only boolean not null default true,
  forgotten_before timestamptz not null,
  constraint delivery_memory_pkey primary key (is_only),
  constraint delivery_memory_only_check check (is_only)
);
