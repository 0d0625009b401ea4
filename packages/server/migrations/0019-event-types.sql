-- The previous release survives this migration: it takes reports of every type, and calls endpoints by their ids.

-- The types of events that are reported, as operators describe them.
create table event_types (
  type text collate "C" not null,
  description text,
  -- a JSON Schema of the data, and data that fits it, as they were spelled
  schema json,
  sample json,
  deprecated boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint event_types_pkey primary key (type)
);

alter table webhook_endpoints
  -- what files call it: one of a tenant's, chosen by whoever makes it
  add column uid text collate "C",
  add column name text,
  add column labels json not null default '{}';
create unique index webhook_endpoints_uid_idx on webhook_endpoints (tenant, uid)
  where deleted_at is null and uid is not null;
