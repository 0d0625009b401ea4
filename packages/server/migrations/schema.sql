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
  constraint access_tokens_hash_key UNIQUE (hash),
  constraint access_tokens_pkey PRIMARY KEY (id)
);

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

create table export_links (
  hash bytea not null,
  token_id text collate "C" not null,
  request json not null,
  expires_at timestamp with time zone not null,
  constraint export_links_pkey PRIMARY KEY (hash)
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
  constraint leaf_days_pkey PRIMARY KEY (tenant, store, day)
);

create table leaf_months (
  tenant text collate "C" not null,
  store text collate "C" not null,
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint leaf_months_pkey PRIMARY KEY (tenant, store, month)
);

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
  constraint leaf_stores_pkey PRIMARY KEY (tenant, store)
);

CREATE INDEX leaf_stores_store_idx ON public.leaf_stores USING btree (store, tenant);

create table leaf_tenants (
  tenant text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20,0) not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint leaf_tenants_pkey PRIMARY KEY (tenant)
);

create table schema_migrations (
  name text collate "C" not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table sessions (
  hash bytea not null,
  token_id text collate "C" not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint sessions_pkey PRIMARY KEY (hash)
);

CREATE INDEX sessions_expires_at_idx ON public.sessions USING btree (expires_at);

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
