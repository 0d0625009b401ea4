-- The audit log: what operators wrote and took out, each entry in the transaction of what it tells. And
-- until when a console session need not give its access token again.
-- The previous release survives this migration: it knows neither the table nor the column.

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
  constraint audit_log_pkey primary key (id)
);
create index audit_log_at_idx on audit_log (at, id);
create index audit_log_tenant_idx on audit_log (tenant, at, id);
create index audit_log_token_idx on audit_log (token_id, at, id);
create index audit_log_action_idx on audit_log (action, at, id);

alter table sessions add column confirmed_until timestamptz;
