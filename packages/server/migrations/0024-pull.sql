-- The previous release survives this migration. It takes an endpoint that is polled for one with the URL pull:, tries to
-- send to it, and fails; what has failed waits for a poll all the same.

-- An endpoint has the URL pull: when its receiver fetches its deliveries.
create index webhook_endpoints_pull_idx on webhook_endpoints (id) where url = 'pull:' and deleted_at is null;

-- Where its receiver is, once it has polled. Whoever polls has its row locked.
create table pull_places (
  endpoint_id text collate "C" not null,
  -- the last number that was given
  position bigint not null,
  polled_at timestamp with time zone not null default now(),
  constraint pull_places_pkey primary key (endpoint_id)
);

-- What was handed out and is not acknowledged yet, by its number. Numbers grow, also beyond a backup that is restored: a
-- cursor never stands for anything else than what came before it.
create table pulled_deliveries (
  endpoint_id text collate "C" not null,
  position bigint not null,
  lane smallint not null,
  delivery_id text collate "C" not null,
  handed_out_at timestamp with time zone not null default now(),
  constraint pulled_deliveries_pkey primary key (endpoint_id, position),
  constraint pulled_deliveries_delivery_key unique (delivery_id)
);
